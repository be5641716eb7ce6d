import { DurableObject } from "cloudflare:workers";
import { Turns } from "../../core/basics/turns.ts";

/**
 * A Durable Object that stores the tokens of `mcp-edge/client/oauth`. Export it from the Worker, bind it, and pass its stub
 * to `objectStore()`.
 *
 * | stored | key | written | removed |
 * | --- | --- | --- | --- |
 * | tokens, registrations, pending sign-ins, as JSON | `oauth:` and the key of the store | one row for each `set` | by `set` without a value, as in `signOut()`, or with the object |
 */
export class OAuthStoreObject<Env = unknown> extends DurableObject<Env> {
  readonly #turns = new Turns();

  /** Returns the value of a key, or undefined if there is none. */
  async get(key: string): Promise<string | undefined> {
    return this.ctx.storage.get<string>(`oauth:${key}`);
  }

  /** Replaces the value of a key, or removes it if the value is undefined. When the promise resolves, the change is durable. */
  async set(key: string, value: string | undefined): Promise<void> {
    if (value === undefined) await this.ctx.storage.delete(`oauth:${key}`);
    else await this.ctx.storage.put(`oauth:${key}`, value);
  }

  /** Calls `work`, which runs in the caller's Worker, while no other work for the same key is running. */
  async exclusive(key: string, work: () => Promise<void>): Promise<void> {
    await this.#turns.run(key, async () => {
      await work();
    });
  }
}
