/**
 * Defines `Promise.withResolvers`, which Node 20 does not have. Workers, browsers and newer versions of Node have it.
 *
 * @module
 */
Promise.withResolvers ??= function withResolvers<T>(this: PromiseConstructor): PromiseWithResolvers<T> {
  const parts = {} as PromiseWithResolvers<T>;
  parts.promise = new Promise<T>((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};
