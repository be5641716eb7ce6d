/** What the hidden checks share: the server of the project in the current folder, its clients, and an identity provider. */
import { existsSync } from "node:fs";
import { type Client, type ClientOptions, connect } from "mcp-edge/client";
import { startWorker, type TestWorker, type WorkerOptions } from "mcp-edge/testing";

export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";
/** The versions that every server must serve. */
export const VERSIONS: readonly string[] = [MODERN, LEGACY];

/** Starts the Worker of the project. Requests of the Worker to other hosts go to `outbound`. */
export function startProject(options: WorkerOptions = {}): Promise<TestWorker> {
  const names = ["wrangler.toml", "wrangler.jsonc", "wrangler.json"];
  const wrangler = names.find((name) => existsSync(name));
  if (wrangler === undefined) throw new Error("The project has no wrangler.toml.");
  return startWorker({ wrangler, ...options });
}

/** Connects a client that fails instead of printing warnings. */
export function connectTo(worker: TestWorker, options: Partial<ClientOptions> = {}): Promise<Client> {
  return connect(worker.url("/mcp"), { name: "check", version: "1.0.0", onEvent: () => {}, ...options });
}

/** The outcome of a call: its structured result, and all of its text, also if it is an error. */
export interface Outcome {
  readonly isError: boolean;
  readonly value: unknown;
  readonly text: string;
}

/** Calls a tool. An error of the protocol is also an outcome. */
export async function call(client: Client, tool: string, args: Record<string, unknown> = {}): Promise<Outcome> {
  try {
    const { isError = false, structuredContent, content } = await client.callTool(tool, args);
    const text = content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
    return { isError, value: structuredContent, text };
  } catch (error) {
    return { isError: true, value: undefined, text: error instanceof Error ? error.message : String(error) };
  }
}

const ISSUER = "https://login.example.com";
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** The identity provider: `answer` serves its metadata and keys, and `token` issues access tokens. */
export class Issuer {
  readonly #pair: CryptoKeyPair;
  readonly #jwk: JsonWebKey;

  private constructor(pair: CryptoKeyPair, jwk: JsonWebKey) {
    this.#pair = pair;
    this.#jwk = jwk;
  }

  static async create(): Promise<Issuer> {
    const pair = (await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])) as CryptoKeyPair;
    return new Issuer(pair, (await crypto.subtle.exportKey("jwk", pair.publicKey)) as JsonWebKey);
  }

  /** Answers a request of the Worker. */
  answer(request: Request): Response {
    const { origin, pathname } = new URL(request.url);
    if (origin !== ISSUER) return new Response("not found", { status: 404 });
    if (pathname.startsWith("/.well-known/")) return Response.json({ issuer: ISSUER, jwks_uri: `${ISSUER}/jwks` });
    if (pathname !== "/jwks") return new Response("not found", { status: 404 });
    return Response.json({ keys: [{ ...this.#jwk, kid: "1", alg: "ES256", use: "sig" }] });
  }

  /** Returns the headers of a user of a server. */
  async headers(
    worker: TestWorker,
    sub: string,
    claims: Record<string, unknown> = {},
  ): Promise<Record<string, string>> {
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: ISSUER, aud: worker.url("/mcp"), sub, iat: now, exp: now + 3_600, ...claims };
    const signed = `${encode({ alg: "ES256", kid: "1" })}.${encode(all)}`;
    const signature = await crypto.subtle.sign(ALGORITHM, this.#pair.privateKey, Buffer.from(signed));
    return { Authorization: `Bearer ${signed}.${Buffer.from(signature).toString("base64url")}` };
  }
}

/** Sends a modern `tools/list` without a client, and returns the response. */
export function postRaw(worker: TestWorker, headers: Record<string, string> = {}): Promise<Response> {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": { name: "check", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return fetch(worker.url("/mcp"), {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": MODERN,
      "Mcp-Method": "tools/list",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta } }),
  });
}
