/**
 * Chooses the object of a shard to which a stream connects. See docs/decisions/005-notifications.md.
 *
 * @module
 */
import { fingerprint } from "../../core/basics/bytes.ts";
import { type HubClaim, OBJECTS_HEADER } from "./hub-messages.ts";

/** The requests to the objects of one shard. */
export interface ShardLinks {
  /** Requests a WebSocket from an object. */
  dial(object: number): Promise<Response>;
  /** Makes the root double this number of objects, unless its number is already higher. Returns the root's number. */
  grow(objects: number): Promise<number>;
}

/** Places streams on the objects of one shard. The number known here is never higher than the number stored by the root. */
export class Placement {
  readonly #max: number;
  #known = 1;

  /** @param max The maximum number of objects. */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Returns a function that connects one stream to an object with room, or returns the refusal if there is none. When it
   * is called again, it tries the same object first, because that object knows which notifications the stream missed.
   */
  connector(
    { owner, ownerMax, streamsMax }: Pick<HubClaim, "owner" | "ownerMax" | "streamsMax">,
    { dial, grow }: ShardLinks,
  ): () => Promise<Response> {
    const random = Math.random();
    // If the streams of a principal fit into one object, they share an object, which can count them.
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
          // An object does not hibernate until its response has been read or cancelled.
          await response?.body?.cancel();
          response = await dial(object);
          const told = Number(response.headers.get(OBJECTS_HEADER));
          this.#learn(told);
          // A refusal without the number of objects is final. Older releases send only such refusals.
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
