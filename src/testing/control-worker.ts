/**
 * The Worker by which a test reaches objects: it has the tested Worker's objects and nothing else.
 *
 * This file runs in workerd, not in Node.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { CONTROL } from "./names.ts";
import type { Control } from "./worker-side.ts";

/** An object by its id, or by the name it was made from. */
export type ObjectTarget = { readonly id: string } | { readonly name: string };

/** What came of a call. */
export interface Controlled {
  readonly value?: unknown;
  /** Told instead of thrown: what an RPC call rejects with does not come through to Node. */
  readonly failed?: { readonly name: string; readonly message: string; readonly stack?: string | undefined };
}

type Stub = { readonly [CONTROL]: (asked: Control) => Promise<unknown> };

type Clock = { moveTo(ms: number): Promise<void> };

export default class extends WorkerEntrypoint<Record<string, unknown>> {
  async moveClocks(bindings: readonly string[], ms: number): Promise<void> {
    await Promise.all(bindings.map((binding) => (this.env[binding] as Clock).moveTo(ms)));
  }

  async ask(binding: string, target: ObjectTarget, asked: Control): Promise<Controlled> {
    const namespace = this.env[binding] as DurableObjectNamespace | undefined;
    if (!namespace) throw new Error(`The control Worker lacks the binding "${binding}".`);
    const id = "id" in target ? namespace.idFromString(target.id) : namespace.idFromName(target.name);
    try {
      return { value: await (namespace.get(id) as unknown as Stub)[CONTROL](asked) };
    } catch (error) {
      const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
      return { failed: { name, message, stack } };
    }
  }
}
