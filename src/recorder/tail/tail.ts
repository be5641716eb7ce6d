/**
 * The tail Worker. workerd tells it what happens in the observed Worker and its objects, and it reports that in batches.
 *
 * This file runs in workerd.
 *
 * @module
 */
import { convertEvent } from "./convert.ts";
import type { TailEvent } from "./tail-event.ts";

/** Sends a batch. Rejects if it did not arrive. */
export type SendBatch = (events: readonly TailEvent[], env: unknown) => Promise<void>;

/** What workerd calls for each event after the onset. */
type Handler = (event: unknown) => Promise<void>;

/** A Worker that receives streaming tails. */
export interface TailWorker {
  tailStream(onset: unknown, env: unknown): Handler;
}

/** Milliseconds for which events are collected before they are sent. */
const COLLECT_MS = 10;

/** The maximum number of events of a batch. */
const BATCH_MAX = 500;

/** Events that wait. More are dropped, so that a collector that does not answer costs a bounded amount of memory. */
const WAITING_MAX = 20_000;

/** Milliseconds after which a sender is taken for lost: workerd may have ended the invocation in which it ran. */
const LOST_MS = 2_000;

/** Creates the Worker. The events of all invocations go through one queue, in the order in which they happened. */
export function createTail(send: SendBatch): TailWorker {
  const waiting: TailEvent[] = [];
  /** One at a time, so that batches arrive in their order. */
  let sender: object | undefined;
  let aliveAtMs = 0;
  const flush = async (env: unknown) => {
    if (sender && Date.now() - aliveAtMs < LOST_MS) return;
    const own = {};
    sender = own;
    aliveAtMs = Date.now();
    try {
      await new Promise((resolve) => setTimeout(resolve, COLLECT_MS));
      while (waiting.length > 0 && sender === own) {
        aliveAtMs = Date.now();
        await send(waiting.splice(0, BATCH_MAX), env);
      }
    } catch {
      // The collector has ended or does not answer. The events are lost, which the observed Worker must not notice.
    } finally {
      if (sender === own) sender = undefined;
    }
  };
  const take = (raw: unknown) => {
    const event = convertEvent(raw);
    if (event && waiting.length < WAITING_MAX) waiting.push(event);
  };
  return {
    tailStream(onset, env) {
      // workerd ends the work of this call, but waits for that of the following ones, of which there is at least one.
      take(onset);
      return (event) => {
        take(event);
        return flush(env);
      };
    },
  };
}

/** Returns the function that sends batches to the collector of `mcp-edge dev`. */
export function sendTo(url: string, secret: string): SendBatch {
  return async (events) => {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${secret}` };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(events) });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`The collector has answered with ${response.status}.`);
  };
}
