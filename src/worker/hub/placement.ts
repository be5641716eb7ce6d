/**
 * Chooses the object of a shard to which a stream connects. See docs/decisions/025-streams-over-objects.md.
 *
 * @module
 */
import { OBJECTS_HEADER } from "./hub-messages.ts";

/** The requests to the objects of one shard. */
export interface ShardLinks {
  /** Asks an object for a WebSocket. */
  dial(object: number): Promise<Response>;
  /** Asks the root to double this number of objects unless it is higher already. Returns the number. */
  grow(objects: number): Promise<number>;
}

/** The number of objects of one shard, as one isolate knows it. It is never higher than what the root has stored. */
export class Placement {
  readonly #max: number;
  #known = 1;

  /** @param max The shard is not asked to grow beyond this number of objects. */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Returns a function that connects one stream to an object that has room, or returns the refusal if none was found.
   * Called again, it tries the same object first, because that object knows what the stream has missed.
   *
   * @param fraction A number in [0, 1) that selects objects: the same for all streams of a principal, otherwise random.
   */
  connector(fraction: number, { dial, grow }: ShardLinks): () => Promise<Response> {
    let last: number | undefined;
    return async () => {
      let response!: Response;
      for (;;) {
        const objects = this.#known;
        const older = objects >> 1;
        const newer = older + Math.floor(fraction * (objects - older));
        for (const object of new Set([last ?? newer, newer, Math.floor(fraction * older)])) {
          // An object does not hibernate while its answer is not read.
          await response?.body?.cancel();
          response = await dial(object);
          const told = Number(response.headers.get(OBJECTS_HEADER));
          this.#learn(told);
          // A refusal that does not tell the number is final, as are those of an older release.
          if (response.webSocket || !told) {
            last = object;
            return response;
          }
        }
        if (this.#known === objects && objects < this.#max) this.#learn(await grow(objects));
        if (this.#known === objects) return response;
      }
    };
  }

  #learn(objects: number): void {
    this.#known = Math.max(this.#known, objects);
  }
}
