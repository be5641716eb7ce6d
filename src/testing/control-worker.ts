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

type Clock = { moveTo(ms: number): Promise<void> };

export default class extends WorkerEntrypoint<Record<string, unknown>> {
  async moveClocks(bindings: readonly string[], ms: number): Promise<void> {
    await Promise.all(bindings.map((binding) => (this.env[binding] as Clock).moveTo(ms)));
  }

  /** Returns the objects with a role. Hubs and keys are recognized by their names, other roles by what they store. */
  async inRole(className: string, ids: readonly string[], role: RoleName): Promise<string[]> {
    const namespace = this.env[className] as DurableObjectNamespace;
    const toId = (name: string) => namespace.idFromName(name).toString();
    const names = Array.from({ length: SHARDS_MAX * OBJECTS_MAX }, (_, at) =>
      hubName(at % SHARDS_MAX, Math.floor(at / SHARDS_MAX)),
    );
    const hubs = new Set(names.map(toId));
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
   * The same as `ask`, for commands that may wait for the test. Miniflare blocks Node until an RPC call returns, but not
   * while it fetches. Values are JSON.
   */
  override async fetch(request: Request): Promise<Response> {
    return Response.json(await this.ask(...((await request.json()) as Parameters<typeof this.ask>)));
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
