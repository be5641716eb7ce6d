/**
 * Keys that tokens are bound to (DPoP). A stolen token is useless without its key.
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
import type { DpopKey, DpopKeys } from "./grant.ts";
import type { WebKeyPair } from "./keys.ts";

/** The options of {@link dpopKeys}. */
export interface DpopKeysOptions {
  /**
   * An ES256 key pair for all tokens, which may be non-extractable. It is not stored.
   *
   * @default a new key pair for each sign-in, which is stored with the tokens
   */
  readonly keyPair?: WebKeyPair | undefined;
}

const ALGORITHM = "ES256";
const PARAMETERS = { name: "ECDSA", namedCurve: "P-256" };

/**
 * Returns the value of the option `dpop` of `oauth()`. Tokens are bound to a key if the authorization server supports DPoP with ES256.
 *
 * @see RFC 9449
 */
export function dpopKeys({ keyPair }: DpopKeysOptions = {}): DpopKeys {
  // The keys are kept in memory because they contain the nonces that servers have sent.
  const known = new Map<string, Promise<DpopKey>>();
  const own = keyPair && createKey(keyPair, "");
  return {
    algorithm: ALGORITHM,
    async key(stored) {
      if (own) return own;
      if (stored === undefined) {
        const pair = await generateKeyPair(ALGORITHM, { extractable: true });
        const text = JSON.stringify(await crypto.subtle.exportKey("jwk", pair.privateKey));
        const created = createKey(pair, text);
        known.set(text, Promise.resolve(created));
        return created;
      }
      const found = known.get(stored) ?? importKey(stored);
      known.set(stored, found);
      return found;
    },
  };
}

async function importKey(stored: string): Promise<DpopKey> {
  const { d, ...point } = JSON.parse(stored) as JsonWebKey;
  const publicJwk = { ...point, key_ops: ["verify"] };
  return createKey(
    {
      privateKey: await crypto.subtle.importKey("jwk", { ...point, d: d ?? "" }, PARAMETERS, false, ["sign"]),
      publicKey: await crypto.subtle.importKey("jwk", publicJwk, PARAMETERS, true, ["verify"]),
    },
    stored,
  );
}

function createKey(pair: WebKeyPair, stored: string): DpopKey {
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
          // The handle has stored the nonce of the refusal for the next proof.
          if (isRepeat || !isDPoPNonceError(error)) return error.response;
          await error.response.body?.cancel();
        }
      }
    },
  };

  function once(accessToken: string, url: string, init: RequestInit, fetch: FetchFunction): Promise<Response> {
    // The library adds the token and the proof, and stores the nonce of the response.
    return protectedResourceRequest(accessToken, init.method ?? "GET", new URL(url), new Headers(init.headers), null, {
      DPoP: handle,
      [allowInsecureRequests]: true,
      [customFetch]: (to, { headers }) => fetch(to, { ...init, headers }),
    });
  }
}
