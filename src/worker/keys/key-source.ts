/**
 * The keys of an isolate: asked for once, asked for again in the background now and then, and at once when something
 * was sealed with a key it does not know, which it then believes for a while.
 *
 * @module
 */
import { waitUntil } from "cloudflare:workers";
import { KEYS_VARIABLE, KeyRing } from "../../core/seal/key-ring.ts";
import type { Rotation, StoredKey } from "./rotation.ts";

/** Milliseconds between two asks for a key that is not known: garbage is not to cost requests. */
const UNKNOWN_PAUSE_MS = 10_000;
/** Milliseconds the object has to answer. */
const ANSWER_MS = 5_000;

interface Known {
  readonly keys: readonly StoredKey[];
  readonly askedAtMs: number;
}

/** Asks the object. @throws {Error} when it cannot be reached. */
export type AskKeys = (env: unknown, rotation: Rotation) => Promise<readonly StoredKey[]>;

export class KeySource {
  readonly #ask: AskKeys;
  readonly #rotation: Rotation;
  /** Milliseconds after which the keys are asked for again. */
  readonly #refreshMs: number;
  readonly #rings = new Map<string, Promise<KeyRing>>();
  #known: Known | undefined;
  #asking: Promise<Known> | undefined;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  /** Why the last ask failed, if it did. */
  #failure: unknown;

  constructor(ask: AskKeys, rotation: Rotation) {
    this.#ask = ask;
    this.#rotation = rotation;
    this.#refreshMs = rotation.publishMs / 6;
  }

  /**
   * The ring of a purpose. The secret `MCP_KEYS` takes the place of the object where it is set.
   *
   * @param sealed What is to be opened with it: its key is asked for if it is not known.
   * @throws {Error} when there are no keys; {KitError} when those of the secret are none.
   */
  async ring(env: unknown, purpose: string, sealed?: string): Promise<KeyRing> {
    const list = (env as Record<string, unknown> | undefined)?.[KEYS_VARIABLE];
    if (typeof list === "string" && list.trim() !== "") return this.#ringOf(list, purpose);
    const ring = await this.#ringNow(env, purpose);
    if (sealed === undefined || ring.knows(sealed)) return ring;
    // Those who come while it is being asked wait for the same answer.
    if (this.#asking || Date.now() - this.#askedAtMs >= UNKNOWN_PAUSE_MS) {
      await this.#refresh(env);
      return this.#ringNow(env, purpose);
    }
    // There may be a key nobody could tell of: "unknown" would tell the client that its session is gone.
    if (this.#failure !== undefined) throw this.#failure;
    return ring;
  }

  async #ringNow(env: unknown, purpose: string): Promise<KeyRing> {
    const { keys } = await this.#current(env);
    const nowMs = Date.now();
    const sealing = keys.findLast(({ sealsFromMs }) => sealsFromMs <= nowMs) ?? keys[0];
    // The first of a list seals.
    const ordered = [...keys].sort((a, b) => Number(b === sealing) - Number(a === sealing));
    return this.#ringOf(ordered.map(({ secret }) => secret).join(","), purpose);
  }

  /** Deriving keys is dearer than a call: rings are kept for as long as their keys are. */
  #ringOf(list: string, purpose: string): Promise<KeyRing> {
    const name = `${purpose} ${list}`;
    const ring = this.#rings.get(name) ?? KeyRing.parse(list, purpose);
    if (!this.#rings.has(name) && this.#rings.size > RINGS_MAX) this.#rings.clear();
    this.#rings.set(name, ring);
    return ring;
  }

  async #current(env: unknown): Promise<Known> {
    const ageMs = Date.now() - (this.#known?.askedAtMs ?? Number.NEGATIVE_INFINITY);
    if (this.#known && ageMs < this.#rotation.publishMs) {
      if (ageMs >= this.#refreshMs && !this.#asking) waitUntil(this.#refresh(env).catch(() => undefined));
      return this.#known;
    }
    // Older: there may be a key that others seal with by now. Without an answer the old ones are better than none.
    const known = this.#known;
    const isPausing = this.#failure !== undefined && Date.now() - this.#askedAtMs < UNKNOWN_PAUSE_MS;
    if (known && isPausing) return known;
    return this.#refresh(env).catch((error: unknown) => {
      if (known) return known;
      throw error;
    });
  }

  /**
   * Asks the object, once for all who come meanwhile. Kept alive beyond the request that began it; and each waits with a
   * timer of its own, which bounds the wait and tells the platform that the request is not hung.
   */
  async #refresh(env: unknown): Promise<Known> {
    const asking = this.#asking ?? this.#begin(env);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        if (this.#asking === asking) this.#asking = undefined;
        reject(new Error("No keys in time."));
      }, ANSWER_MS);
    });
    try {
      return await Promise.race([asking, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #begin(env: unknown): Promise<Known> {
    this.#askedAtMs = Date.now();
    const asking = this.#keep(env).finally(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    this.#asking = asking;
    waitUntil(asking.catch(() => undefined));
    return asking;
  }

  async #keep(env: unknown): Promise<Known> {
    try {
      this.#known = { keys: await this.#ask(env, this.#rotation), askedAtMs: Date.now() };
      this.#failure = undefined;
      return this.#known;
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }
}

/** More than purposes and orders of keys there are at a time. */
const RINGS_MAX = 16;
