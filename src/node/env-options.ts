/**
 * The type of the options of servers on Node, where a Worker's bindings do not exist.
 *
 * @module
 */

/**
 * The parameter for options with an `env`. It is optional only if `process.env` can have everything that handlers use, that is, if
 * all members of the environment are strings.
 */
export type EnvOptions<Env, Options extends { readonly env?: Env }> =
  // `any` does not require an environment.
  0 extends 1 & Env
    ? [options?: Options]
    : // The members that cannot be environment variables, such as Durable Object namespaces.
      [{ [Name in keyof Env]-?: Env[Name] extends string | undefined ? never : Name }[keyof Env]] extends [never]
      ? [options?: Options]
      : [options: Options & { readonly env: Env }];
