/**
 * Tests the tools of {TITLE} on real workerd. The answers of the API are defined here, so no test needs a network.
 */
import { connect } from "mcp-edge/client";
import { startWorker, type TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
// #region tested
import { BASE_URL } from "../src/api/api.ts";

const SOURCE = "";
const SECRETS = {};
// #endregion

/** A call, the request that it has to send, and the answer of the API. */
interface Case {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly request: {
    readonly method: string;
    /** The path and query after the base URL. Keys in the query come after it. */
    readonly url: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly json?: unknown;
    readonly text?: string;
  };
  /** The body of the answer as JSON; without it, the answer has no content. */
  readonly answer?: unknown;
}

const CASES: readonly Case[] = [];

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

let sent: Sent[];
let answer: () => Response;
let worker: TestWorker;
beforeAll(async () => {
  const outbound = async (request: Request) => {
    const { method, url, headers } = request;
    sent.push({ method, url, headers, body: await request.text() });
    return answer();
  };
  worker = await startWorker({ entry: { source: SOURCE }, bindings: SECRETS, outbound });
});
beforeEach(() => {
  sent = [];
});
afterAll(() => worker?.stop());

/** Calls a tool, and returns its result with its text. */
async function call(tool: string, args: Readonly<Record<string, unknown>>) {
  const client = await connect(worker.url("/mcp"), { name: "test", version: "1.0.0" });
  const result = await client.callTool(tool, args);
  await client.close();
  const text = result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return { ...result, text };
}

test.each(CASES)("$tool sends its request, and returns the answer", async ({ tool, args, request, answer: body }) => {
  answer = () => (body === undefined ? new Response(null, { status: 204 }) : Response.json(body));
  const { isError, text } = await call(tool, args);
  expect([isError ?? false, text]).toEqual([false, expect.any(String)]);
  const [first] = sent;
  expect([first?.method, first?.url]).toEqual([request.method, expect.stringContaining(BASE_URL + request.url)]);
  for (const [name, value] of Object.entries(request.headers ?? {})) expect(first?.headers.get(name)).toBe(value);
  if (request.json !== undefined) expect(JSON.parse(first?.body ?? "")).toEqual(request.json);
  if (request.text !== undefined) expect(first?.body).toBe(request.text);
});

test.each(CASES.slice(0, 3))("$tool explains an error of the API", async ({ tool, args }) => {
  answer = () => Response.json({ message: "no such thing" }, { status: 404 });
  const { isError, text } = await call(tool, args);
  expect(isError).toBe(true);
  expect(text).toContain("There is no such thing. Check the ids");
});
