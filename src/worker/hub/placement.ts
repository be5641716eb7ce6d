/**
 * Chooses the object of a shard to which a stream connects. See docs/decisions/005-notifications.md.
 *
 * @module
 */
import { fingerprint } from "../../core/basics/bytes.ts";
import { type HubClaim, OBJECTS_HEADER } from "./hub-messages.ts";

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
   */
  connector(
    { owner, ownerMax, streamsMax }: Pick<HubClaim, "owner" | "ownerMax" | "streamsMax">,
    { dial, grow }: ShardLinks,
  ): () => Promise<Response> {
    const random = Math.random();
    // The streams of a principal meet in one object, which can count them, if they fit into it.
    const preferred = owner && ownerMax <= streamsMax ? fingerprint(owner) / 2 ** 32 : random;
    let last: number | undefined;
    return async () => {
      let response!: Response;
      for (;;) {
        const objects = this.#known;
        const older = objects >> 1;
        const places = [preferred, random].flatMap((fraction) => [
          older + Math.floor(fraction * (objects - older)),
          Math.floor(fraction * older),
        ]);
        for (const object of new Set(last === undefined ? places : [last, ...places])) {
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
