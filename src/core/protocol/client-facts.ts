/**
 * The facts a server knows about the client whose request it serves.
 *
 * @module
 */

import { type ClientCapabilities, type ClientCapabilityName, hasCapability } from "./client-capabilities.ts";
import type { Icon } from "./content.ts";
import { isObject, type JsonObject } from "./jsonrpc.ts";
import type { VersionRules } from "./versions.ts";

/** The identity that a request acts for. It never contains a token. */
export interface Principal {
  /** The authority that vouches for the subject, such as the issuer URL of the authorization server. */
  readonly issuer: string;
  /** The subject within the issuer. */
  readonly subject: string;
  /** The permissions of the subject, such as the scopes of an access token. */
  readonly scopes?: readonly string[];
  /** Further values that authentication passes on to handlers, such as the claims of an access token. */
  readonly claims?: JsonObject;
  /** The OAuth client that sent the request, as the issuer names it. */
  readonly clientId?: string;
  /** When the access token expires, in milliseconds since 1970. */
  readonly expiresAtMs?: number;
  /**
   * Returns an access token of the identity provider at which the user signed in, for requests to its API. It is refreshed if
   * needed, and valid for at least a minute more. Ask for it each time you need it, and store it nowhere. It works in sessions
   * and tasks too, until the user revokes the access. Defined only by `authorizationServer()` of `mcp-edge/authorization-server`.
   *
   * @throws {UpstreamError} if there is no token, with the reason.
   */
  readonly upstream?: () => Promise<UpstreamToken>;
}

/** An access token of an identity provider. It is a secret. */
export interface UpstreamToken {
  /** The token. */
  readonly accessToken: string;
  /** When it expires, in milliseconds since 1970. Undefined if it does not, or if the provider does not say. */
  readonly expiresAtMs?: number | undefined;
  /** The scopes that the provider granted. */
  readonly scopes?: readonly string[] | undefined;
}

/**
 * Returns a plain copy of the principal that an authentication hook returned, so that every access check sees the same issuer
 * and subject. Undefined unless both are non-empty strings.
 */
export function readPrincipal(value: unknown): Principal | undefined {
  if (!isObject(value)) return undefined;
  const { issuer, subject } = value;
  const isFit = typeof issuer === "string" && typeof subject === "string" && issuer !== "" && subject !== "";
  return isFit ? { ...value, issuer, subject } : undefined;
}

/**
 * Name and version of a client or server, as it states them. They are not verified, so use them for display and logs
 * only.
 */
export interface Implementation {
  /** The name, for programs. */
  readonly name: string;
  /** The version, in any form. */
  readonly version: string;
  /** The name, for people. Sent since 2025-06-18. */
  readonly title?: string;
  /** A description, for people. Sent since 2025-11-25. */
  readonly description?: string;
  /** The URL of a web page about it. Sent since 2025-11-25. */
  readonly websiteUrl?: string;
  /** Icons that may be shown for it. Sent since 2025-11-25. */
  readonly icons?: readonly Icon[];
}

/** The client a handler talks to. */
export class ClientFacts {
  /**
   * The rules of the protocol version of this request.
   *
   * @internal
   */
  readonly rules: VersionRules;
  /** The capabilities that the client declared. */
  readonly capabilities: ClientCapabilities;
  /** The client's description of itself; undefined if it sent none. */
  readonly info: Implementation | undefined;

  /** @internal */
  constructor(rules: VersionRules, capabilities: ClientCapabilities, info?: Implementation) {
    this.rules = rules;
    this.capabilities = capabilities;
    this.info = info;
  }

  /**
   * The name that the client states; undefined if it states none, and for legacy HTTP clients without a session. A
   * session keeps only the name and the version, at most 94 bytes of UTF-8 together.
   */
  get name(): string | undefined {
    return this.info?.name;
  }

  /** The version that the client states; see {@link ClientFacts.name}. */
  get version(): string | undefined {
    return this.info?.version;
  }

  /** The protocol version of this request, such as `2026-07-28`. */
  get protocolVersion(): string {
    return this.rules.version;
  }

  /**
   * `modern` for 2026-07-28 and later, where requests are independent; `legacy` for earlier versions, which have
   * sessions.
   */
  get era(): "legacy" | "modern" {
    return this.rules.era;
  }

  /** Whether the client has declared the capability and its protocol version defines it. */
  can(capability: ClientCapabilityName): boolean {
    // Unknown members are kept, so a client may have declared a capability that its version does not define.
    return !this.rules.unknownCapabilities.includes(capability) && hasCapability(this.capabilities, capability);
  }
}

/** Reads an `Implementation` that a peer sent. Undefined if it has no string name and version. */
export function readImplementation(value: unknown): Implementation | undefined {
  if (!isObject(value) || typeof value.name !== "string" || typeof value.version !== "string") return undefined;
  return value as unknown as Implementation;
}
