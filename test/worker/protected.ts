/** A Worker whose endpoints admit requests with a token, and the issuer of the tokens. */
import { afterAll, beforeAll, beforeEach } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Issuer, newKey, type SigningKey, signJwt } from "../harness/issuer.ts";
import type { Members } from "../http/messages.ts";
import { ModernClient, readAnswer } from "./client.ts";

type Headers = Readonly<Record<string, string>>;

export let issuer: Issuer;
export let worker: TestWorker;
export let key: SigningKey;

/** Starts the issuer and the Worker for the tests of a file. */
export function setUp(): void {
  beforeAll(async () => {
    aheadS = 0;
    issuer = await Issuer.start();
    key = await newKey("ES256", "one");
    worker = await startWorker({
      entry: "test/worker/fixtures/bearer.ts",
      objects: ["McpObject", "FilesObject", "OwnObject", "FewObject"],
      bindings: { ISSUER: issuer.url },
    });
  });
  afterAll(async () => {
    await worker?.stop();
    await issuer?.stop();
  });
  beforeEach(() => {
    issuer.published = [key.jwk];
    issuer.faults.clear();
  });
}

export const read = async <T>(path: string) => (await (await fetch(worker.url(path))).json()) as T;
/** The URL of a path of the Worker. */
export const url = (path = "/mcp") => worker.url(path);
/** Seconds by which the Worker's clock is ahead of the real one. */
let aheadS = 0;
/** The time of the Worker, in seconds. */
export const nowS = () => Math.floor(Date.now() / 1000) + aheadS;
export async function advance(seconds: number): Promise<void> {
  aheadS += seconds;
  await worker.advance(seconds * 1000);
}

/** The claims of a valid token for a path. */
export function claimsFor(path = "/mcp", more: Members = {}): Members {
  return { iss: issuer.url, aud: url(path), sub: "alice", exp: nowS() + 300, scope: "read", ...more };
}

/** A valid token, with changes. */
export function tokenFor(
  path = "/mcp",
  more: Members = {},
  by: SigningKey = key,
  header: Members = {},
): Promise<string> {
  return signJwt(by, claimsFor(path, more), header);
}

export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

/** Calls the tool as a modern client. */
export function who(token: string | undefined, path = "/mcp"): Promise<Response> {
  return new ModernClient(url(path)).call("who", {}, { headers: token === undefined ? {} : bearer(token) });
}

/** The status and the challenge of a response. */
export async function refusalOf(token: string | undefined, path?: string): Promise<readonly [number, string | null]> {
  const response = await who(token, path);
  await response.body?.cancel();
  return [response.status, response.headers.get("WWW-Authenticate")];
}

export async function statusOf(token: string | undefined, path?: string): Promise<number> {
  return (await refusalOf(token, path))[0];
}

export async function principalOf(token: string, path = "/mcp"): Promise<Members> {
  const answer = await readAnswer(who(token, path));
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.raw}`);
  return JSON.parse(answer.text ?? "{}") as Members;
}

export const metadataUrl = (path: string) => `${url("/.well-known/oauth-protected-resource")}${path}`;
export const invalid = (description: string, path = "/mcp", scope = "") =>
  `Bearer error="invalid_token", error_description="${description}", ${scope}resource_metadata="${metadataUrl(path)}"`;
