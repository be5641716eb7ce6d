/** Holds a call in a Durable Object, where every request of the caller finds it, whichever machine handles the request. */
import { DurableObject } from "cloudflare:workers";
import { HeldCall, type OnProgress } from "./held-call.ts";

export class CallObject extends DurableObject<Env> {
  readonly #call = new HeldCall();

  // Only these methods can be called over RPC.
  async begin(call: string, onProgress: OnProgress): Promise<string> {
    return JSON.stringify(await this.#call.begin(JSON.parse(call), onProgress));
  }
  async answer(answers: string, onProgress: OnProgress): Promise<string> {
    return JSON.stringify(await this.#call.answer(JSON.parse(answers), onProgress));
  }
  async cancel(): Promise<void> {
    this.#call.cancel();
  }
}
