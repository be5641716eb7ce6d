/**
 * The nonces that proofs must contain. Each is its own time of issue, sealed, so nothing is stored.
 *
 * @module
 * @see RFC 9449, section 9
 */
import { encodeText } from "../../../core/basics/bytes.ts";
import type { KeyRing } from "../../../core/seal/key-ring.ts";
import type { ProofProblem } from "../auth/proof-verifier.ts";

/** Milliseconds for which a nonce is valid. */
const VALID_MS = 5 * 60_000;
/** Lets pages read the nonce. */
const EXPOSED = { "Access-Control-Expose-Headers": "DPoP-Nonce" };

export class Nonces {
  readonly #ring: (env: unknown, sealed?: string) => Promise<KeyRing>;

  constructor(ring: (env: unknown, sealed?: string) => Promise<KeyRing>) {
    this.#ring = ring;
  }

  /** Returns why a nonce is refused, or undefined if it is valid. */
  async check(nonce: unknown, env: unknown): Promise<ProofProblem | undefined> {
    if (typeof nonce === "string" && (await this.#ageOf(nonce, env)) < VALID_MS) return undefined;
    const headers = { ...EXPOSED, "DPoP-Nonce": await this.#make(env) };
    return { error: "use_dpop_nonce", message: "The proof needs the nonce of this answer.", headers };
  }

  async #make(env: unknown): Promise<string> {
    return (await this.#ring(env)).seal(encodeText(String(Date.now())));
  }

  /** Returns the milliseconds since a nonce was issued. Infinity if this server did not issue it. */
  async #ageOf(nonce: string, env: unknown): Promise<number> {
    const opened = await (await this.#ring(env, nonce)).open(nonce);
    return opened ? Date.now() - Number(new TextDecoder().decode(opened)) : Infinity;
  }
}
