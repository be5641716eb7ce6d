/**
 * The Worker through which a test calls objects. Its only bindings are the objects and the clocks of the Worker under test.
 *
 * This file runs in workerd, not in Node.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { hubName, KEYS_NAME, type RoleName } from "../worker/roles.ts";
import { CONTROL } from "./names.ts";
import type { Control } from "./worker-side.ts";

/** An object: its id, or the name from which its id was created. */
export type ObjectTarget = { readonly id: string } | { readonly name: string };

/** The outcome of a command. */
export interface Controlled {
  readonly value?: unknown;
  /** The exception. It is returned as data, because an exception thrown by an RPC call does not arrive unchanged in Node. */
  readonly failed?: { readonly name: string; readonly message: string; readonly stack?: string | undefined };
}

type Stub = { readonly [CONTROL]: (asked: Control) => Promise<unknown> };

/** The maximum number of shards of a hub, and of objects of a shard. */
const SHARDS_MAX = 32;
const OBJECTS_MAX = 512;

/** The number of objects whose alarms run at the same time. On the platform, alarms of different objects also run concurrently. */
const ALARMS_AT_ONCE = 8;
/** The number of alarms of one object after which `advance` gives up. */
const ALARMS_MAX = 1_000;

/** The ids of all possible hubs, by class. They are cached, because hashing so many names is slow. */
const hubsByClass = new Map<string, ReadonlySet<string>>();

type Clock = { moveTo(ms: number): Promise<void> };

/** A command that may have to wait for something that the test does. */
export type WaitingCommand =
  | { readonly kind: "alarm"; readonly className: string; readonly target: ObjectTarget }
  | { readonly kind: "due"; readonly className: string; readonly ids: readonly string[] };

export default class extends WorkerEntrypoint<Record<string, unknown>> {
  async moveClocks(bindings: readonly string[], ms: number): Promise<void> {
    await Promise.all(bindings.map((binding) => (this.env[binding] as Clock).moveTo(ms)));
  }

  /** Returns the objects with a role. Hubs and keys are recognized by their names, other roles by their stored data. */
  async inRole(className: string, ids: readonly string[], role: RoleName): Promise<string[]> {
    const namespace = this.env[className] as DurableObjectNamespace;
    const toId = (name: string) => namespace.idFromName(name).toString();
    const hubs = hubsByClass.get(className) ?? new Set(hubNames().map(toId));
    hubsByClass.set(className, hubs);
    const findRole = async (id: string) => {
      if (hubs.has(id)) return "hub";
      if (id === toId(KEYS_NAME)) return "keys";
      return (
        (await (namespace.get(namespace.idFromString(id)) as unknown as Stub)[CONTROL]({ ask: "role" })) ?? "session"
      );
    };
    const roles = await Promise.all(ids.map(findRole));
    return ids.filter((_, at) => roles[at] === role);
  }

  /**
   * Runs alarms. This is a fetch handler, because an alarm may have to wait for something that the test does: miniflare blocks Node
   * until an RPC call returns, but not during a fetch. Values are JSON.
   */
  override async fetch(request: Request): Promise<Response> {
    const command: WaitingCommand = await request.json();
    if (command.kind === "due") return Response.json(await this.#runAllDueAlarms(command.className, command.ids));
    return Response.json(await this.ask(command.className, command.target, { ask: "alarm", onlyIfDue: false }));
  }

  /** Runs the alarms of objects until none is due. The value is the number of alarms that ran. */
  async #runAllDueAlarms(className: string, ids: readonly string[]): Promise<Controlled> {
    const waiting = [...ids];
    let ran = 0;
    const runNext = async (): Promise<Controlled> => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        const { value, failed } = await this.#runDueAlarms(className, id);
        ran += Number(value ?? 0);
        if (failed) return { failed };
      }
      return {};
    };
    const outcomes = await Promise.all(Array.from({ length: ALARMS_AT_ONCE }, runNext));
    return outcomes.find(({ failed }) => failed) ?? { value: ran };
  }

  async #runDueAlarms(className: string, id: string): Promise<Controlled> {
    for (let ran = 0; ran < ALARMS_MAX; ran += 1) {
      const { value, failed } = await this.ask(className, { id }, { ask: "alarm", onlyIfDue: true });
      if (failed) return { failed };
      if (!value) return { value: ran };
    }
    const message = `Object ${id} of ${className} ran ${ALARMS_MAX} alarms in one advance(): each alarm sets the next one to a time that has already passed.`;
    return { failed: { name: "Error", message } };
  }

  async ask(className: string, target: ObjectTarget, asked: Control): Promise<Controlled> {
    const namespace = this.env[className] as DurableObjectNamespace | undefined;
    if (!namespace) throw new Error(`The control Worker lacks a binding to the class "${className}".`);
    const id = "id" in target ? namespace.idFromString(target.id) : namespace.idFromName(target.name);
    try {
      return { value: await (namespace.get(id) as unknown as Stub)[CONTROL](asked) };
    } catch (error) {
      const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
      return { failed: { name, message, stack } };
    }
  }
}

function hubNames(): string[] {
  return Array.from({ length: SHARDS_MAX * OBJECTS_MAX }, (_, at) =>
    hubName(at % SHARDS_MAX, Math.floor(at / SHARDS_MAX)),
  );
}
