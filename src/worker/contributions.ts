/**
 * Creates plugins, and joins what those of an endpoint contribute. Bundled only with plugins.
 *
 * @module
 */
import { checkFunction, describeType, KitError } from "../core/protocol/errors.ts";
import type { AuthHook } from "../http/endpoint-types.ts";
import { createStages, reportRefused } from "../http/stages.ts";
import type {
  Contribution,
  EndpointServices,
  JoinedPlugins,
  KitContribution,
  KitPluginDefinition,
  Plugin,
  PluginDefinition,
} from "./plugin.ts";
import type { Problem } from "./problems.ts";

/** Serves every caller. Compared by identity, since requests that need no authentication are served without waiting for it. */
const everyone: AuthHook<unknown> = () => "anonymous";

/** Says that everyone may call, as a plugin of `edge()`. Without it, the log of a Worker that is reached beyond this machine warns. */
export function anonymous(): Plugin<unknown> {
  return definePlugin({ name: "anonymous()", attach: () => ({ authenticate: everyone }) });
}

/**
 * Authenticates callers with a function of yours, as a plugin of `edge()`: it returns the principal that a request acts for,
 * or refuses the request.
 *
 * @example
 * ```ts
 * const known = authenticate((request) => {
 *   const subject = request.headers.get("X-User");
 *   return subject === null ? null : { issuer: "https://login.example.com", subject };
 * });
 * export default edge(server, { use: [known] });
 * ```
 */
export function authenticate<Env = unknown>(hook: AuthHook<Env>): Plugin<Env> {
  checkFunction("authenticate(): the first argument", hook);
  return definePlugin<Env>({ name: "authenticate()", attach: () => ({ authenticate: hook }) });
}

/**
 * Creates a plugin of your own.
 *
 * @example
 * ```ts
 * const logged = definePlugin({
 *   name: "logged()",
 *   attach: () => ({ onRefused: ({ reason, status }) => console.log(reason, status) }),
 * });
 * export default edge(server, { use: [logged] });
 * ```
 */
export function definePlugin<Env = unknown>(definition: PluginDefinition<Env>): Plugin<Env> {
  return createPlugin(definition);
}

/** Creates a plugin of the kit. */
export function createPlugin<Env = unknown, Classes = unknown>(
  definition: KitPluginDefinition<Env>,
): Plugin<Env, Classes> {
  return { ...definition, slot: "plugin", join } as Plugin<Env, Classes>;
}

/** Joins the contributions of all plugins of an endpoint. */
function join<Env>(plugins: readonly Plugin<Env>[], endpoint: EndpointServices): JoinedPlugins {
  // The endpoint erases the type of its `env`.
  const added = plugins.map((plugin) => plugin.attach(endpoint)) as readonly KitContribution[];
  const given = <K extends keyof KitContribution>(member: K) =>
    added.flatMap((each) => (each[member] ? [each[member] as NonNullable<KitContribution[K]>] : []));
  const around = given("around");
  const onRequestEnd = given("onRequestEnd");
  const hooks = { authorize: given("authorize"), onRefused: given("onRefused") };
  const equips = given("equip");
  const mounts = given("mount");
  const names = plugins.flatMap(({ name }, at) => (added[at]?.authenticate ? [name] : []));
  const [auth] = given("authenticate");
  return {
    isOpen: auth === undefined,
    http: {
      auth: auth === everyone ? undefined : auth,
      stages: (report) => createStages(hooks, endpoint.limits, report),
      equip: equips.length > 0 ? (principal, env) => runAll(equips, principal, env) : undefined,
    },
    services: {
      hooks: around.length + onRequestEnd.length > 0 ? { around, onRequestEnd } : undefined,
      scopesOf: given("scopesOf")[0],
      boundTasks: chain(given("boundTasks")),
      watchSessions: chain(given("watchSessions")),
    },
    refused: (refused) =>
      reportRefused(hooks.onRefused, refused, (error, method) =>
        endpoint.onError(error, { correlationId: crypto.randomUUID(), method }),
      ),
    roles: given("roles").flat(),
    mount: (app) => runAll(mounts, app as never) as undefined,
    findProblems: (env) => [
      ...(names.length > 1
        ? [`[option-invalid] edge(): ${names.join(" and ")} in use authenticate callers; write one of them.` as const]
        : []),
      ...plugins.flatMap(({ name }, at) => listProblems(name, added[at]?.findProblems, env)),
    ],
  };
}

/** Returns the problems that a plugin finds. A plugin that cannot look for them has one. */
function listProblems(name: string, find: Contribution["findProblems"], env: unknown): readonly Problem[] {
  if (!find) return [];
  try {
    const found: unknown = find(env);
    if (Array.isArray(found) && found.every((each) => typeof each === "string")) return found as Problem[];
    throw new KitError("options-invalid", `findProblems returned ${describeType(found)}. Return a list of texts.`);
  } catch (error) {
    console.error(`mcp-edge: ${name} failed`, error);
    return [`[option-invalid] edge(): findProblems of ${name} failed. See the log.`];
  }
}

/** Returns a function that passes a value through all functions, or undefined if there are none. */
function chain<Value, Given extends unknown[]>(
  wraps: readonly ((value: Value, ...given: Given) => Value)[],
): ((value: Value, ...given: Given) => Value) | undefined {
  if (wraps.length === 0) return undefined;
  return (value, ...given) => wraps.reduce((wrapped, wrap) => wrap(wrapped, ...given), value);
}

function runAll<Given extends unknown[]>(hooks: readonly ((...given: Given) => void)[], ...given: Given): void {
  for (const hook of hooks) hook(...given);
}
