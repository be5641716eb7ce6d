/**
 * The tail Worker. It receives the events of the observed Worker and its objects from workerd, and sends them in batches.
 *
 * This file runs in workerd.
 *
 * @module
 */
import { convertEvent } from "./convert.ts";
import type { TailEvent } from "./tail-event.ts";

/** Sends a batch. Rejects if the batch was not received. */
export type SendBatch = (events: readonly TailEvent[], env: unknown) => Promise<void>;

/** Called by workerd for each event after the onset. */
type Handler = (event: unknown) => Promise<void>;

/** A Worker that receives tail events. */
export interface TailWorker {
  tailStream(onset: unknown, env: unknown): Handler;
}

/** How long events are collected before they are sent, in milliseconds. */
const COLLECT_MS = 10;

/** The maximum number of events of a batch. */
const BATCH_MAX = 500;

/** The maximum number of queued events. Additional events are dropped, so that they cannot exhaust memory. */
const WAITING_MAX = 20_000;

/** How long a sender may be inactive before another one replaces it, in milliseconds. workerd may have ended its invocation. */
const LOST_MS = 2_000;

/** Creates the Worker. The events of all invocations go through one queue, which preserves their order. */
export function createTail(send: SendBatch): TailWorker {
  const waiting: TailEvent[] = [];
  /** Only one sender runs at a time, so that batches arrive in order. */
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
      // The collector is gone or unresponsive. The events are lost, but the observed Worker must not be affected.
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
      // workerd does not wait for work that this call starts, but it waits for the handler, which is called at least once.
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
    if (!response.ok) throw new Error(`The collector responded with ${response.status}.`);
  };
}
