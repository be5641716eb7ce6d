/**
 * The keys of an isolate: asked for once, asked for again in the background now and then, and at once when something
 * was sealed with a key it does not know, which it then believes for a while.
 *
 * @module
 */
import { waitUntil } from "cloudflare:workers";
import { KEYS_VARIABLE, KeyRing } from "../../core/key-ring.ts";
import type { Rotation, StoredKey } from "./rotation.ts";

/** Milliseconds between two asks for a key that is not known: garbage is not to cost requests. */
const UNKNOWN_PAUSE_MS = 10_000;

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
  #unknownAskedAtMs = Number.NEGATIVE_INFINITY;
  #isAsking = false;

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
    if (sealed === undefined || ring.knows(sealed) || Date.now() - this.#unknownAskedAtMs < UNKNOWN_PAUSE_MS)
      return ring;
    this.#unknownAskedAtMs = Date.now();
    await this.#refresh(env).catch(() => undefined);
    return this.#ringNow(env, purpose);
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
      if (ageMs >= this.#refreshMs && !this.#isAsking) waitUntil(this.#refresh(env).catch(() => undefined));
      return this.#known;
    }
    // Older: there may be a key that others seal with by now. Without an answer the old ones are better than none.
    return this.#refresh(env).catch((error: unknown) => {
      if (this.#known) return this.#known;
      throw error;
    });
  }

  /** Not shared between requests: one that is cancelled would take the others' answer along. */
  async #refresh(env: unknown): Promise<Known> {
    this.#isAsking = true;
    try {
      this.#known = { keys: await this.#ask(env, this.#rotation), askedAtMs: Date.now() };
      return this.#known;
    } finally {
      this.#isAsking = false;
    }
  }
}

/** More than purposes and orders of keys there are at a time. */
const RINGS_MAX = 16;
