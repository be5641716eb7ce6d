/**
 * The Worker through which a test calls objects. Its only bindings are the objects and the clock of the Worker under test.
 *
 * This file runs in workerd, not in Node.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { hubName, KEYS_NAME, type RoleName } from "../worker/roles.ts";
import { CONTROL } from "./names.ts";
import type { Control } from "./worker-side.ts";

/** An object by its id, or by the name that its id was created from. */
export type ObjectTarget = { readonly id: string } | { readonly name: string };

/** The outcome of a command. */
export interface Controlled {
  readonly value?: unknown;
  /** The exception, returned as data because Node does not receive the exception of an RPC call unchanged. */
  readonly failed?: { readonly name: string; readonly message: string; readonly stack?: string | undefined };
}

type Stub = { readonly [CONTROL]: (asked: Control) => Promise<unknown> };

/** Maximum number of shards of a hub, and of objects of a shard. */
const SHARDS_MAX = 32;
const OBJECTS_MAX = 512;

/** Objects whose alarms run at the same time, as they do on the platform. */
const ALARMS_AT_ONCE = 8;
/** Alarms of one object after which `advance` gives up. */
const ALARMS_MAX = 1_000;

/** The ids of all possible hubs, by class: there are so many names that hashing them takes a while. */
const hubsByClass = new Map<string, ReadonlySet<string>>();

type Clock = { moveTo(ms: number): Promise<void> };

/** A command that may wait for the test. */
export type WaitingCommand =
  | { readonly kind: "alarm"; readonly className: string; readonly target: ObjectTarget }
  | { readonly kind: "due"; readonly className: string; readonly ids: readonly string[] };

export default class extends WorkerEntrypoint<Record<string, unknown>> {
  async moveClocks(bindings: readonly string[], ms: number): Promise<void> {
    await Promise.all(bindings.map((binding) => (this.env[binding] as Clock).moveTo(ms)));
  }

  /** Returns the objects with a role. Hubs and keys are recognized by their names, other roles by what they store. */
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
   * Runs alarms, which may wait for the test. Miniflare blocks Node until an RPC call returns, but not while it fetches.
   * Values are JSON.
   */
  override async fetch(request: Request): Promise<Response> {
    const command: WaitingCommand = await request.json();
    if (command.kind === "due") return Response.json(await this.#runAllDueAlarms(command.className, command.ids));
    return Response.json(await this.ask(command.className, command.target, { ask: "alarm", onlyIfDue: false }));
  }

  /** Runs the due alarms of objects until none is due. The value is how many ran. */
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
    const message = `Object ${id} of ${className} ran ${ALARMS_MAX} alarms in one advance(): each one sets the next alarm to a time that is already due.`;
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
