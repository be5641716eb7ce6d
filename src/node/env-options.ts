/**
 * The options of a server on Node, which have no bindings of a Worker.
 *
 * @module
 */

/**
 * The arguments for options with an `env`, which may be left out only if `process.env` has everything that handlers use: if
 * all members of the environment are strings.
 */
export type EnvOptions<Env, Options extends { readonly env?: Env }> =
  // `any` needs nothing.
  0 extends 1 & Env
    ? [options?: Options]
    : // The members that no environment variable can be, such as a Durable Object namespace.
      [{ [Name in keyof Env]-?: Env[Name] extends string | undefined ? never : Name }[keyof Env]] extends [never]
      ? [options?: Options]
      : [options: Options & { readonly env: Env }];
