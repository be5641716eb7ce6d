/**
 * The facts a server knows about the client whose request it serves.
 *
 * @module
 */
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
  readonly icons?: readonly import("./content.ts").Icon[];
}

/** Capabilities as a client declares them; unknown members are kept. */
export interface ClientCapabilities extends JsonObject {
  /** Declared by a client that lets its model answer `ctx.sample`. */
  readonly sampling?: JsonObject;
  /** Declared by a client that asks its user for `ctx.elicit` and `ctx.elicitUrl`. */
  readonly elicitation?: JsonObject;
  /** Declared by a client that lists its roots for `ctx.listRoots`. */
  readonly roots?: JsonObject;
  /** The extensions that the client supports, by name, each with its settings. */
  readonly extensions?: JsonObject;
}

/** The name of a capability that a handler may check. A bare `elicitation: {}` includes `elicitation.form`. */
export type ClientCapabilityName =
  | "sampling"
  | "sampling.tools"
  | "sampling.context"
  | "elicitation"
  | "elicitation.form"
  | "elicitation.url"
  | "roots"
  | "roots.listChanged"
  | "experimental";

/** The client a handler talks to. */
export class ClientFacts {
  /** The rules of the protocol version of this request. */
  readonly rules: VersionRules;
  /** The capabilities that the client declared. */
  readonly capabilities: ClientCapabilities;
  /** The client's description of itself; undefined if it sent none. */
  readonly info: Implementation | undefined;

  /** Creates the facts. The kit does this for every request; tests may create their own. */
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

/** Whether the capabilities contain the named one. */
export function hasCapability(capabilities: ClientCapabilities, name: ClientCapabilityName): boolean {
  const [kind, mode] = name.split(".") as [keyof ClientCapabilities & string, string | undefined];
  const declared = capabilities[kind];
  if (!isObject(declared)) return false;
  if (mode === undefined) return true;
  // Before modes existed, `elicitation: {}` meant forms; the specification keeps that reading.
  if (mode === "form") return declared.form !== undefined || declared.url === undefined;
  // `roots.listChanged` is true or false, the others are objects.
  return declared[mode] !== undefined && declared[mode] !== false;
}

/** Returns the object that declares these capabilities: `sampling.tools` gives `{ sampling: { tools: {} } }`. */
export function capabilityObject(names: readonly ClientCapabilityName[]): JsonObject {
  const required: { [kind: string]: JsonObject } = {};
  for (const name of names) {
    const [kind, mode] = name.split(".") as [string, string | undefined];
    required[kind] = { ...required[kind], ...(mode === undefined ? {} : { [mode]: mode === "listChanged" || {} }) };
  }
  return required;
}

/** Reads an `Implementation` that a peer sent. Undefined if it has no string name and version. */
export function readImplementation(value: unknown): Implementation | undefined {
  if (!isObject(value) || typeof value.name !== "string" || typeof value.version !== "string") return undefined;
  return value as unknown as Implementation;
}

/**
 * The order of capability bits in a sealed session id. Ids outlive deploys, so entries are only ever added at the end.
 * A session does not remember details of a capability that have no bit, such as the members of `experimental`.
 */
const CAPABILITY_BITS: readonly ClientCapabilityName[] = [
  "sampling",
  "sampling.tools",
  "sampling.context",
  "elicitation",
  "elicitation.form",
  "elicitation.url",
  "roots",
  "roots.listChanged",
  "experimental",
];

/** Encodes capabilities as a number of at most 16 bits. */
export function encodeCapabilities(capabilities: ClientCapabilities): number {
  return CAPABILITY_BITS.reduce((bits, name, place) => bits | (hasCapability(capabilities, name) ? 1 << place : 0), 0);
}

/** Decodes a number that {@link encodeCapabilities} returned. */
export function decodeCapabilities(bits: number): ClientCapabilities {
  return capabilityObject(CAPABILITY_BITS.filter((_, place) => (bits & (1 << place)) !== 0));
}
