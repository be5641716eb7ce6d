/**
 * The clients of the authorization server. Nothing is stored for any of them:
 *
 * - A client that the author names in the options.
 * - A client whose `client_id` is the URL of its metadata document (see client-document.ts).
 * - A client that has registered itself, if the author allows it. Its `client_id` is its metadata, sealed. So registrations
 *   cannot fill a storage, and need no expiry of rows.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization/client-registration
 */

import { hashText, type Sealing } from "../sealing.ts";
import type { ClientDocuments } from "./client-document.ts";
import { isDocumentUrl } from "./document-url.ts";
import type { ClientAuthMethod, OAuthClient } from "./oauth-client.ts";

/** A client that the author names in the options. */
export interface KnownClient {
  /** The `client_id`. Not a URL. */
  readonly id: string;
  /** The name that users see. */
  readonly name: string;
  /** The exact redirect URIs. The port of a loopback URI may vary. */
  readonly redirectUris: readonly string[];
  /** The secret of a client that can keep one. Read it from a secret of the Worker. @default none: a public client */
  readonly secret?: string;
}

/** The content of the `client_id` of a client that has registered itself. */
export interface Registration {
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly method: ClientAuthMethod;
  readonly secretHash?: string | undefined;
  readonly expiresAtMs: number;
}

/** Finds clients by their id. */
export class Clients {
  readonly #known: ReadonlyMap<string, KnownClient>;
  readonly #documents: ClientDocuments;
  readonly #sealing: Sealing;
  readonly #canRegister: boolean;

  constructor(known: readonly KnownClient[], documents: ClientDocuments, sealing: Sealing, canRegister: boolean) {
    this.#known = new Map(known.map((client) => [client.id, client]));
    this.#documents = documents;
    this.#sealing = sealing;
    this.#canRegister = canRegister;
  }

  /**
   * Returns a client, or why there is none. A metadata document is requested if it is not known.
   *
   * @param network The network of the request that names the client.
   */
  async find(id: string, env: unknown, issuer: string, network: string): Promise<OAuthClient | string> {
    if (isDocumentUrl(id)) return this.#documents.find({ id, network }, issuer);
    return (await this.#local(id, env, issuer)) ?? "The client is not known here.";
  }

  /**
   * Returns what authenticates a client to the token endpoint; undefined for an unknown client. A client with a metadata
   * document has no secret, so its document is not requested.
   */
  async findCredentials(
    id: string,
    env: unknown,
    issuer: string,
  ): Promise<Pick<OAuthClient, "method" | "secretHash"> | undefined> {
    return isDocumentUrl(id) ? { method: "none" } : this.#local(id, env, issuer);
  }

  async #local(id: string, env: unknown, issuer: string): Promise<OAuthClient | undefined> {
    const known = this.#known.get(id);
    if (known) {
      const { secret, ...rest } = known;
      const secretHash = secret === undefined ? undefined : await hashText(secret);
      return {
        ...rest,
        source: "author",
        method: secretHash === undefined ? "none" : "client_secret_basic",
        secretHash,
      };
    }
    if (!this.#canRegister) return undefined;
    const registered = await this.#sealing.open<Registration>(env, "OAuth client", id, issuer);
    if (!registered || registered.expiresAtMs <= Date.now()) return undefined;
    return { id, source: "registration", ...registered };
  }
}
