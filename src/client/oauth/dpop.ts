/**
 * Tokens that are bound to a key (DPoP). Without the key, a stolen token is worthless.
 *
 * @module
 * @see RFC 9449
 */
import {
  allowInsecureRequests,
  customFetch,
  DPoP,
  generateKeyPair,
  isDPoPNonceError,
  protectedResourceRequest,
  WWWAuthenticateChallengeError,
} from "oauth4webapi";
import type { FetchFunction } from "../transports/fetch-options.ts";
import type { Proof, ProofKeys } from "./grant.ts";
import type { WebKeyPair } from "./keys.ts";

/** The options of {@link dpopKeys}. */
export interface DpopKeysOptions {
  /**
   * An ES256 key pair, such as one that cannot be exported. It is used for all tokens, and it is not stored.
   *
   * @default a new pair for each sign-in, stored with the tokens
   */
  readonly keyPair?: WebKeyPair | undefined;
}

const ALGORITHM = "ES256";
const PARAMETERS = { name: "ECDSA", namedCurve: "P-256" };

/**
 * Returns the option `dpop` of `oauth()`. Tokens are bound to a key if the authorization server advertises DPoP with ES256.
 *
 * @see RFC 9449
 */
export function dpopKeys({ keyPair }: DpopKeysOptions = {}): ProofKeys {
  // Each key keeps the nonces that servers have sent.
  const known = new Map<string, Promise<Proof>>();
  const own = keyPair && createProof(keyPair, "");
  return {
    algorithm: ALGORITHM,
    async key(stored) {
      if (own) return own;
      if (stored === undefined) {
        const pair = await generateKeyPair(ALGORITHM, { extractable: true });
        const text = JSON.stringify(await crypto.subtle.exportKey("jwk", pair.privateKey));
        const made = createProof(pair, text);
        known.set(text, Promise.resolve(made));
        return made;
      }
      const found = known.get(stored) ?? imported(stored);
      known.set(stored, found);
      return found;
    },
  };
}

async function imported(stored: string): Promise<Proof> {
  const { d, ...point } = JSON.parse(stored) as JsonWebKey;
  const publicJwk = { ...point, key_ops: ["verify"] };
  return createProof(
    {
      privateKey: await crypto.subtle.importKey("jwk", { ...point, d: d ?? "" }, PARAMETERS, false, ["sign"]),
      publicKey: await crypto.subtle.importKey("jwk", publicJwk, PARAMETERS, true, ["verify"]),
    },
    stored,
  );
}

function createProof(pair: WebKeyPair, stored: string): Proof {
  const handle = DPoP({}, pair);
  return {
    handle,
    stored,
    async send(accessToken, url, init, fetch) {
      for (let isRepeat = false; ; isRepeat = true) {
        try {
          return await once(accessToken, url, init, fetch);
        } catch (error) {
          if (!(error instanceof WWWAuthenticateChallengeError)) throw error;
          // The handle has kept the nonce of the refusal for the next proof.
          if (isRepeat || !isDPoPNonceError(error)) return error.response;
          await error.response.body?.cancel();
        }
      }
    },
  };

  function once(accessToken: string, url: string, init: RequestInit, fetch: FetchFunction): Promise<Response> {
    // The library adds the token and the proof, and remembers the nonce of the answer.
    return protectedResourceRequest(accessToken, init.method ?? "GET", new URL(url), new Headers(init.headers), null, {
      DPoP: handle,
      [allowInsecureRequests]: true,
      [customFetch]: (to, { headers }) => fetch(to, { ...init, headers }),
    });
  }
}
