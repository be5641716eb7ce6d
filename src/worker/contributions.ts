/**
 * Creates plugins, and joins the contributions of an endpoint's plugins. This module is bundled only if plugins are used.
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

/** Admits all callers. It is compared by identity, so that requests without authentication do not await a hook. */
const everyone: AuthHook<unknown> = () => "anonymous";

/**
 * Declares that all callers are admitted without authentication, as a plugin of `edge()`. Without this plugin or a plugin
 * that authenticates, the Worker logs a warning when it receives a request for a host other than loopback.
 */
export function anonymous(): Plugin<unknown> {
  return definePlugin({ name: "anonymous()", attach: () => ({ authenticate: everyone }) });
}

/**
 * Authenticates callers with your own function, as a plugin of `edge()`. The function returns the principal on whose behalf
 * a request acts, or refuses the request.
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
 * Creates a plugin from your own definition.
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

/** Creates a plugin that is part of this package. */
export function createPlugin<Env = unknown, Classes = unknown>(
  definition: KitPluginDefinition<Env>,
): Plugin<Env, Classes> {
  return { ...definition, slot: "plugin", join } as Plugin<Env, Classes>;
}

/** Joins the contributions of all plugins of an endpoint. */
function join<Env>(plugins: readonly Plugin<Env>[], endpoint: EndpointServices): JoinedPlugins {
  // The endpoint does not know the type of its `env`.
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
      stages: (report) => createStages(hooks, report),
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

/** Returns the problems that a plugin finds. If its `findProblems` fails, the failure is returned as a problem. */
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

/** Returns a function that passes a value through all functions in order, or undefined if there are none. */
function chain<Value, Given extends unknown[]>(
  wraps: readonly ((value: Value, ...given: Given) => Value)[],
): ((value: Value, ...given: Given) => Value) | undefined {
  if (wraps.length === 0) return undefined;
  return (value, ...given) => wraps.reduce((wrapped, wrap) => wrap(wrapped, ...given), value);
}

function runAll<Given extends unknown[]>(hooks: readonly ((...given: Given) => void)[], ...given: Given): void {
  for (const hook of hooks) hook(...given);
}
