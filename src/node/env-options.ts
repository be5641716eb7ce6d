/**
 * The type of the options of servers on Node, where a Worker's bindings do not exist.
 *
 * @module
 */

/** The names of members that cannot be environment variables, such as a Durable Object namespace. */
type Bindings<Env> = { [Name in keyof Env]-?: Env[Name] extends string | undefined ? never : Name }[keyof Env];

/** True if a type is `any`, which does not require any members. */
type IsAny<T> = 0 extends 1 & T ? true : false;

/**
 * The parameter for options with an `env`. It is optional only if `process.env` can have everything that handlers use, that is, if
 * all members of the environment are strings.
 */
export type EnvOptions<Env, Options extends { readonly env?: Env }> =
  IsAny<Env> extends true
    ? [options?: Options]
    : [Bindings<Env>] extends [never]
      ? [options?: Options]
      : [options: Options & { readonly env: Env }];
