/**
 * The clients of the authorization server. The server does not store any of them:
 *
 * - Known clients are named in the options.
 * - The `client_id` of some clients is the URL of their metadata document (see client-document.ts).
 * - Registered clients have registered themselves, if the author allows this. Their `client_id` is their sealed metadata, so
 *   registrations cannot fill any storage, and do not have to be deleted.
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
  /** The `client_id`, which must not be a URL. */
  readonly id: string;
  /** The name that is shown to users. */
  readonly name: string;
  /** The redirect URIs, which are compared exactly, except for the port of loopback URIs. */
  readonly redirectUris: readonly string[];
  /** The client secret, from a secret of the Worker. @default none, for a public client */
  readonly secret?: string;
}

/** The content of the `client_id` of a registered client. */
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
   * Returns a client, or the reason why it cannot be used. A metadata document is requested if it is not cached.
   *
   * @param network The network from which the authorization request was sent.
   */
  async find(id: string, env: unknown, issuer: string, network: string): Promise<OAuthClient | string> {
    if (isDocumentUrl(id)) return this.#documents.find({ id, network }, issuer);
    return (await this.#local(id, env, issuer)) ?? "The client is unknown.";
  }

  /**
   * Returns how a client authenticates to the token endpoint, or undefined for an unknown client. A client with a metadata
   * document does not have a secret, so its document is not requested.
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
