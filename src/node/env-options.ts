/**
 * The options of a server on Node, which have no bindings of a Worker.
 *
 * @module
 */

/** The members of an environment that no environment variable can be, such as a Durable Object namespace. */
type Bindings<Env> = { [Name in keyof Env]-?: Env[Name] extends string | undefined ? never : Name }[keyof Env];

/** Whether a type is `any`, which needs nothing. */
type IsAny<T> = 0 extends 1 & T ? true : false;

/**
 * The arguments for options with an `env`, which may be left out only if `process.env` has everything that handlers use: if
 * all members of the environment are strings.
 */
export type EnvOptions<Env, Options extends { readonly env?: Env }> =
  IsAny<Env> extends true
    ? [options?: Options]
    : [Bindings<Env>] extends [never]
      ? [options?: Options]
      : [options: Options & { readonly env: Env }];
