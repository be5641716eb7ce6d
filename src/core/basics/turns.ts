/**
 * Runs work for the same key one at a time.
 *
 * @module
 */
import { pause } from "./pause.ts";

/** The time between two heartbeats of a turn, in milliseconds. */
const BEAT_MS = 500;
/** The number of checks without a heartbeat after which a turn counts as stopped. @limit internal */
const SILENT_MAX = 4;

interface Turn {
  readonly ended: Promise<void>;
  beats: number;
}

/**
 * Runs work for the same key one after the other, within this process.
 *
 * When a request to a Worker is cancelled, the platform stops its work: its promises stay pending forever, and its
 * timers stop. So each turn has a heartbeat, and work that waits no longer waits for a turn whose heartbeat has
 * stopped.
 */
export class Turns {
  readonly #queues = new Map<string, Turn[]>();

  /** Runs `work` after all earlier work for the key has ended. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key) ?? [];
    this.#queues.set(key, queue);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const own: Turn = { ended, beats: 0 };
    queue.push(own);
    const stop = keepBeating(own);
    try {
      for (let first = queue[0]; first && first !== own; first = queue[0]) {
        await untilOver(first);
        remove(first, queue);
      }
      return await work();
    } finally {
      stop();
      remove(own, queue);
      if (queue.length === 0 && this.#queues.get(key) === queue) this.#queues.delete(key);
      resolve();
    }
  }
}

/** Counts the heartbeats of a turn. Returns a function that stops them. */
function keepBeating(turn: Turn): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const beat = () => {
    turn.beats += 1;
    timer = setTimeout(beat, BEAT_MS);
  };
  beat();
  return () => clearTimeout(timer);
}

/** Resolves when a turn has ended, or has stopped. */
async function untilOver(turn: Turn): Promise<void> {
  // Counts checks and not the time: after a pause of the whole machine, the first check may come before the first
  // heartbeat.
  for (let silent = 0, beats = -1; silent < SILENT_MAX; ) {
    const settled = new AbortController();
    const check = pause(BEAT_MS, settled.signal).then(() => true);
    const isPending = await Promise.race([check, turn.ended.then(() => false)]);
    settled.abort();
    if (!isPending) return;
    silent = turn.beats === beats ? silent + 1 : 0;
    beats = turn.beats;
  }
}

function remove(turn: Turn, queue: Turn[]): void {
  const at = queue.indexOf(turn);
  if (at >= 0) queue.splice(at, 1);
}
