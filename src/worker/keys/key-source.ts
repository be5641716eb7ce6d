/**
 * The keys of an isolate. They are requested once and refreshed in the background. They are also refreshed when a value
 * was sealed with an unknown key, but at most once in ten seconds.
 *
 * @module
 */
import { waitUntil } from "cloudflare:workers";
import { readKeyList, ringOf } from "../../core/seal/env-keys.ts";
import type { KeyRing } from "../../core/seal/key-ring.ts";
import type { Rotation, StoredKey } from "./rotation.ts";

/** Milliseconds between two requests because of an unknown key, so that invalid input cannot cause many requests. */
const UNKNOWN_PAUSE_MS = 10_000;
/** Milliseconds to wait for the object's answer. */
const ANSWER_MS = 5_000;

interface Known {
  readonly keys: readonly StoredKey[];
  readonly requestedAtMs: number;
}

/** Requests the keys from the object. @throws {Error} when it cannot be reached. */
export type RequestKeys = (env: unknown, rotation: Rotation) => Promise<readonly StoredKey[]>;

export class KeySource {
  readonly #request: RequestKeys;
  readonly #rotation: Rotation;
  /** Milliseconds after which the keys are refreshed in the background. */
  readonly #refreshMs: number;
  #known: Known | undefined;
  #pending: Promise<Known> | undefined;
  #requestedAtMs = Number.NEGATIVE_INFINITY;
  /** The error of the last request, if it failed. */
  #failure: unknown;

  constructor(request: RequestKeys, rotation: Rotation) {
    this.#request = request;
    this.#rotation = rotation;
    this.#refreshMs = rotation.publishMs / 6;
  }

  /**
   * Returns the key ring for a purpose. If the secret `MCP_KEYS` is set, its keys are used and the object is not
   * called.
   *
   * @param sealed The text to open with the ring. If its key is unknown, the keys are requested again.
   * @throws {Error} if the object returns no keys. @throws {KitError} if the secret has no valid keys.
   */
  async ring(env: unknown, purpose: string, sealed?: string): Promise<KeyRing> {
    const list = readKeyList(env);
    if (list !== undefined) return ringOf(list, purpose);
    const ring = await this.#ringNow(env, purpose);
    if (sealed === undefined || ring.knows(sealed)) return ring;
    // Concurrent callers wait for the same request.
    if (this.#pending || Date.now() - this.#requestedAtMs >= UNKNOWN_PAUSE_MS) {
      await this.#refresh(env);
      return this.#ringNow(env, purpose);
    }
    // The key may exist although the request for it failed. "Unknown" would tell the client that its session is gone.
    if (this.#failure !== undefined) throw this.#failure;
    return ring;
  }

  async #ringNow(env: unknown, purpose: string): Promise<KeyRing> {
    const { keys } = await this.#current(env);
    const nowMs = Date.now();
    const sealing = keys.findLast(({ sealsFromMs }) => sealsFromMs <= nowMs) ?? keys[0];
    // The first key of a list seals.
    const ordered = [...keys].sort((a, b) => Number(b === sealing) - Number(a === sealing));
    return ringOf(ordered.map(({ secret }) => secret).join(","), purpose);
  }

  async #current(env: unknown): Promise<Known> {
    const ageMs = Date.now() - (this.#known?.requestedAtMs ?? Number.NEGATIVE_INFINITY);
    if (this.#known && ageMs < this.#rotation.publishMs) {
      if (ageMs >= this.#refreshMs && !this.#pending) waitUntil(this.#refresh(env).catch(() => undefined));
      return this.#known;
    }
    // With keys this old, other isolates may seal with a newer one, so wait for a refresh. If it fails, use the old keys.
    const known = this.#known;
    const isPausing = this.#failure !== undefined && Date.now() - this.#requestedAtMs < UNKNOWN_PAUSE_MS;
    if (known && isPausing) return known;
    return this.#refresh(env).catch((error: unknown) => {
      if (known) return known;
      throw error;
    });
  }

  /**
   * Requests the keys, in one request for all concurrent callers, which is kept alive beyond the client's request that
   * began it. Each caller has a timer of its own: it limits the wait and shows the platform that the request is not hung.
   */
  async #refresh(env: unknown): Promise<Known> {
    const pending = this.#pending ?? this.#begin(env);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        if (this.#pending === pending) this.#pending = undefined;
        reject(new Error(`The object that stores the sealing keys did not answer within ${ANSWER_MS} ms.`));
      }, ANSWER_MS);
    });
    try {
      return await Promise.race([pending, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #begin(env: unknown): Promise<Known> {
    this.#requestedAtMs = Date.now();
    const pending = this.#keep(env).finally(() => {
      if (this.#pending === pending) this.#pending = undefined;
    });
    this.#pending = pending;
    waitUntil(pending.catch(() => undefined));
    return pending;
  }

  async #keep(env: unknown): Promise<Known> {
    try {
      this.#known = { keys: await this.#request(env, this.#rotation), requestedAtMs: Date.now() };
      this.#failure = undefined;
      return this.#known;
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }
}
