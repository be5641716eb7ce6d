/**
 * The sealing keys of an isolate. They are requested once and refreshed in the background. They are also refreshed when a
 * value was sealed with an unknown key, but at most once in ten seconds.
 *
 * @module
 */
import { waitUntil } from "cloudflare:workers";
import { pause } from "../../core/basics/pause.ts";
import { openKeyRing, readKeyList } from "../../core/seal/env-keys.ts";
import type { KeyRing } from "../../core/seal/key-ring.ts";
import type { Rotation, StoredKey } from "./rotation.ts";

/**
 * The minimum time between two requests that are caused by unknown keys, in milliseconds, so that invalid input cannot
 * cause many requests.
 */
const UNKNOWN_PAUSE_MS = 10_000;
/** How long to wait for the response of the object, in milliseconds. */
const ANSWER_MS = 5_000;

interface Known {
  readonly keys: readonly StoredKey[];
  readonly requestedAtMs: number;
  /** The sealing key for which `list` was computed. */
  sealing?: StoredKey | undefined;
  /** The secrets of the keys, beginning with the sealing key. */
  list: string;
}

/** Requests the keys from the object. @throws {Error} if it cannot be reached. */
export type RequestKeys = (env: unknown, rotation: Rotation) => Promise<readonly StoredKey[]>;

export class KeySource {
  readonly #request: RequestKeys;
  readonly #rotation: Rotation;
  /** The age at which the keys are refreshed in the background, in milliseconds. */
  readonly #refreshMs: number;
  #known: Known | undefined;
  #pending: Promise<Known> | undefined;
  #requestedAtMs = 0;
  /** The error of the last request, if it failed or timed out. */
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
   * @param sealed The string to open with the ring. If its key is unknown, the keys are requested again.
   * @throws {Error} if the object returns no keys. @throws {KitError} if the secret has no valid keys.
   */
  async ring(env: unknown, purpose: string, sealed?: string): Promise<KeyRing> {
    const list = readKeyList(env);
    if (list !== undefined) return openKeyRing(list, purpose);
    const ring = await this.#ringOf(await this.#current(env), purpose);
    if (sealed === undefined || ring.knows(sealed)) return ring;
    // Concurrent callers wait for the same request.
    if (this.#pending || Date.now() - this.#requestedAtMs >= UNKNOWN_PAUSE_MS) {
      return this.#ringOf(await this.#refresh(env), purpose);
    }
    // The key may exist, because the request for it failed. If it were treated as unknown, the client would have to start a
    // new session.
    if (this.#failure !== undefined) throw this.#failure;
    return ring;
  }

  #ringOf(known: Known, purpose: string): Promise<KeyRing> {
    const { keys } = known;
    const nowMs = Date.now();
    const sealing = keys.findLast(({ sealsFromMs }) => sealsFromMs <= nowMs) ?? keys[0];
    if (known.sealing !== sealing) {
      known.sealing = sealing;
      known.list = [...new Set([sealing, ...keys])].map((key) => key?.secret).join();
    }
    return openKeyRing(known.list, purpose);
  }

  /** Not async, because almost every call gets the keys at once. */
  #current(env: unknown): Known | Promise<Known> {
    const known = this.#known;
    if (!known) return this.#refresh(env);
    const ageMs = Date.now() - known.requestedAtMs;
    const isPausing = this.#failure !== undefined && Date.now() - this.#requestedAtMs < UNKNOWN_PAUSE_MS;
    if (isPausing || ageMs < this.#refreshMs) return known;
    const isOld = ageMs >= this.#rotation.publishMs;
    if (!isOld && this.#pending) return known;
    const refreshed = this.#refresh(env).catch(() => known);
    // Other isolates may already seal with a newer key than these, so wait for a refresh.
    if (isOld) return refreshed;
    waitUntil(refreshed);
    return known;
  }

  /**
   * Requests the keys, in one request for all concurrent callers, which outlives the client request that started it. Each
   * caller has its own timer, which limits the wait and shows the platform that the request is not hung.
   */
  async #refresh(env: unknown): Promise<Known> {
    const pending = this.#pending ?? this.#begin(env);
    const settled = new AbortController();
    const late = pause(ANSWER_MS, settled.signal).then(() => {
      throw this.#failed(pending, new Error(`The sealing keys did not arrive within ${ANSWER_MS} ms.`));
    });
    // A pending timer would keep a Durable Object from hibernating. After the request has settled, `#failed()` has no
    // effect.
    return Promise.race([pending, late]).finally(() => settled.abort());
  }

  #begin(env: unknown): Promise<Known> {
    this.#requestedAtMs = Date.now();
    const pending = this.#request(env, this.#rotation).then(
      (keys) => {
        this.#known = { keys, requestedAtMs: Date.now(), list: "" };
        if (this.#pending === pending) this.#pending = undefined;
        this.#failure = undefined;
        return this.#known;
      },
      (error: unknown) => {
        throw this.#failed(pending, error);
      },
    );
    this.#pending = pending;
    waitUntil(pending.catch(() => undefined));
    return pending;
  }

  /** Records that a request failed. If there are older keys, the error is not thrown to any caller, so it is logged here. */
  #failed(pending: Promise<Known>, error: unknown): unknown {
    if (this.#pending === pending) {
      this.#pending = undefined;
      this.#failure = error;
      if (this.#known) console.error("mcp-edge: the sealing keys were not refreshed", error);
    }
    return error;
  }
}
