/** The official client and ours as programs whose user is at a browser: what tests of signing in have in common. */
import { randomBytes } from "node:crypto";
import {
  auth,
  Client,
  type OAuthClientInformationContext,
  type OAuthClientProvider,
  SSEClientTransport,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { Client as SdkClient } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as SdkSseTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { connect, type Client as OurClient } from "../../src/client/index.ts";
import { dpopKeys, memoryStore, oauth } from "../../src/client/oauth/index.ts";

/** Lets a user sign in at a URL and allow the client. Returns the parameters with which the browser returns to the client. */
export type Agree = (to: string) => Promise<URLSearchParams>;

/** Keeps the credentials of the official client, and opens the browser. */
export class Person implements OAuthClientProvider {
  /** The pages that were opened. */
  readonly opened: URL[] = [];
  readonly redirectUrl: string;
  readonly clientMetadata;
  readonly #agree: Agree;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = "";
  returned: URLSearchParams | undefined;

  constructor(callback: string, agree: Agree) {
    this.redirectUrl = callback;
    this.clientMetadata = { client_name: "Official", redirect_uris: [callback], token_endpoint_auth_method: "none" };
    this.#agree = agree;
  }

  state(): string {
    return randomBytes(16).toString("base64url");
  }

  clientInformation(_: OAuthClientInformationContext | undefined = undefined) {
    return this.#client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }

  async redirectToAuthorization(to: URL): Promise<void> {
    this.opened.push(to);
    this.returned = await this.#agree(to.href);
  }

  /** Called when the server has refused the credentials. */
  invalidateCredentials(what: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    if (what === "all" || what === "client") this.#client = undefined;
    if (what === "all" || what === "tokens") this.#tokens = undefined;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}

export type Transport = StreamableHTTPClientTransport | SSEClientTransport;
export type Mode = "legacy" | { readonly pin: string };
export type Open = (url: string, person: Person) => Transport;

const streamable: Open = (url, authProvider) => new StreamableHTTPClientTransport(new URL(url), { authProvider });
const sse: Open = (url, authProvider) => new SSEClientTransport(new URL(url), { authProvider });

/** The ways in which the official client connects. */
export const OFFICIAL: readonly (readonly [string, Mode, Open])[] = [
  ["2026-07-28", { pin: "2026-07-28" }, streamable],
  ["a legacy session", "legacy", streamable],
  ["HTTP+SSE", "legacy", sse],
];

/**
 * Calls a tool whose scope the token lacks. The transport of Streamable HTTP asks the user for the scope. That of HTTP+SSE does
 * nothing about a 403, so the call fails and the program asks for the scope itself. Afterwards both transports can go on.
 *
 * @returns The error of the refused call, and how many sign-in pages the transport opened without being told to.
 */
export async function stepUp(client: Client, url: string, person: Person, tool: string, scope: string) {
  const before = person.opened.length;
  const refusal = await textOf(client, tool).then(String, (error: Error) => error.message);
  const opened = person.opened.length - before;
  if (opened === 0) await auth(person, { serverUrl: url, scope, forceReauthorization: true });
  await (client.transport as Transport).finishAuth(person.returned ?? new URLSearchParams());
  return { refusal, opened };
}

const clients: { close(): Promise<void> }[] = [];

/** Closes the clients of a test. */
export async function closeAll(): Promise<void> {
  for (const client of clients.splice(0)) await client.close().catch(() => undefined);
}

/** Connects as the documentation of the official client says: once more after the user has returned. */
export async function enter(url: string, person: Person, mode: Mode, transport: Open): Promise<Client> {
  const open = async () => {
    const client = new Client({ name: "official", version: "1.0.0" }, { versionNegotiation: { mode } });
    clients.push(client);
    const own = transport(url, person);
    return { own, connected: client.connect(own).then(() => client) };
  };
  const first = await open();
  try {
    return await first.connected;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  await first.own.finishAuth(person.returned ?? new URLSearchParams());
  return (await open()).connected;
}

/** Connects the official SDK 1.32 over HTTP+SSE. */
export async function enterWithSdk(url: string, person: Person) {
  const open = async () => {
    const client = new SdkClient({ name: "official", version: "1.0.0" });
    clients.push(client);
    const transport = new SdkSseTransport(new URL(url), { authProvider: person });
    return { client, transport, connected: client.connect(transport) };
  };
  const first = await open();
  await first.connected.catch(() => undefined);
  await first.transport.finishAuth(person.returned?.get("code") ?? "");
  const second = await open();
  await second.connected;
  return second;
}

/** Calls a tool with the official client. */
export async function textOf(client: Client, name: string): Promise<string> {
  const { content } = await client.callTool({ name, arguments: {} });
  return (content as { text?: string }[])[0]?.text ?? "";
}

/** The ways in which our client connects to a URL. */
export function oursAt(url: () => string): readonly (readonly [string, object])[] {
  /** Makes the client take HTTP+SSE, as if the server knew nothing newer. Only requests with a token are refused. */
  const withoutStreamable = (to: string, init: RequestInit): Promise<Response> => {
    const isStreamable = init.method === "POST" && to === url() && new Headers(init.headers).has("Authorization");
    return isStreamable ? Promise.resolve(new Response(null, { status: 405 })) : fetch(to, init);
  };
  return [
    ["2026-07-28", { protocolVersions: ["2026-07-28"] }],
    ["a legacy session", { protocolVersions: ["2025-11-25"] }],
    ["HTTP+SSE", { protocolVersions: ["2024-11-05"], fetch: withoutStreamable }],
  ];
}

/** Our client, whose processes share a store. `join` connects one. */
export function ours(url: string, callback: string, agree: Agree, options: object, bound = false) {
  const store = memoryStore();
  const opened: URL[] = [];
  const authorize = async (to: string) => {
    opened.push(new URL(to));
    return `${callback}?${await agree(to)}`;
  };
  const redirect = { url: callback, open: () => ({ url: callback, authorize, close: () => undefined }) };
  const join = async (): Promise<OurClient> => {
    const auth = oauth({ redirect, store, ...(bound && { dpop: dpopKeys() }) });
    const client = await connect(url, { name: "ours", version: "1.0.0", onEvent: () => undefined, ...options, auth });
    clients.push(client);
    return client;
  };
  return { opened, join };
}

/** Calls a tool with our client. */
export async function textOfOurs(client: OurClient, name: string): Promise<string> {
  const [block] = (await client.callTool(name)).content;
  return block?.type === "text" ? block.text : "";
}
