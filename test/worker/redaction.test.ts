/**
 * What others wrote reaches neither clients nor the log: answers of an authorization server, of other servers that a handler
 * asks, exceptions, and values in schema errors. Each contains a mark.
 */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { McpServer } from "../../src/core/index.ts";
import { createSafeFetch, readSql } from "../../src/safe/index.ts";
import { connectInMemory } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import type { Members } from "../http/messages.ts";
import { startUpstream } from "../safe/upstream.ts";
import { advance, issuer, read, setUp, tokenFor, who } from "./protected.ts";

expectLogs(
  /^mcp-edge: tokens must have the issuer/,
  /^mcp-edge: an access token could not be verified: /,
  /^mcp-edge: "\(auth\)" failed /,
  /^mcp-edge: the keys of the issuer could not be requested; the known ones stay in use: /,
);

setUp();

const MARK = "not-for-others";
const METADATA = "/.well-known/oauth-authorization-server";

interface Fault {
  readonly status: number;
  readonly text?: string;
  readonly headers?: Record<string, string>;
}

/** Calls an endpoint, and returns everything that its client and the log get. */
async function toldBy(path: string, token: string): Promise<{ readonly status: number; readonly told: string }> {
  const before = (await read<string[]>("/log")).length;
  const response = await who(token, path);
  const headers = JSON.stringify([...response.headers]);
  const log = (await read<string[]>("/log")).slice(before);
  return { status: response.status, told: [await response.text(), headers, ...log].join("\n") };
}

describe("responses of the authorization server", () => {
  const json = (value: unknown): Fault => ({ status: 200, text: JSON.stringify(value) });
  test.each<[string, string, Fault]>([
    ["metadata with an error", METADATA, { status: 500, text: MARK }],
    ["metadata that is not JSON", METADATA, { status: 200, text: `<p>${MARK}</p>` }],
    [
      "metadata of another issuer",
      METADATA,
      json({ issuer: `https://${MARK}.example`, jwks_uri: "https://a.example" }),
    ],
    ["keys with an error", "/jwks", { status: 403, text: `{"error":"${MARK}"}` }],
    ["keys that are not JSON", "/jwks", { status: 200, text: `{"keys": ${MARK}` }],
    ["keys that are not a list", "/jwks", json({ keys: MARK })],
    ["keys that are elsewhere", "/jwks", { status: 302, headers: { Location: `https://${MARK}.example/` } }],
    ["keys of another form", "/jwks", json({ keys: [{ kty: MARK, kid: "one" }, MARK, null] })],
  ])("%s reach neither the client nor the log", async (_, path, fault) => {
    // The keys are requested again.
    await advance(700);
    issuer.faults.set(path, fault);
    const { status, told } = await toldBy("/mcp", await tokenFor());
    expect([401, 503]).toContain(status);
    expect(told).not.toContain(MARK);
  });

  test("a URL of keys with line ends does not write its own lines into the log", async () => {
    await advance(700);
    issuer.metadata = { jwks_uri: `${issuer.url}/\n${MARK}` };
    const { status, told } = await toldBy("/mcp", await tokenFor());
    issuer.metadata = {};
    expect(status).toBe(503);
    expect(told).not.toContain(`\n${MARK}`);
  });

  test.each<[string, Fault]>([
    ["an error", { status: 500, text: MARK }],
    ["invalid JSON", { status: 200, text: MARK }],
    ["a refusal with a reason", json({ active: false, reason: MARK })],
    ["a token of another issuer", json({ active: true, iss: MARK, aud: MARK, sub: MARK, scope: MARK })],
    ["a token without a subject", json({ active: true, client: MARK })],
  ])("%s in response to introspection reaches neither client nor log", async (_, fault) => {
    issuer.faults.set("/introspect", fault);
    const { status, told } = await toldBy("/opaque", "opaque-token-of-alice");
    expect([401, 503]).toContain(status);
    expect(told).not.toContain(MARK);
    expect(told).not.toContain("opaque-token-of-alice");
    expect(told).not.toContain(btoa("mcp%3Aedge:a+b%25"));
  });
});

describe("exceptions of the function verify", () => {
  const secret = "Zm9yLW5vYm9keQ~+/x==";
  test.each([
    [
      "an Error with causes and members",
      `thrown.${secret}`,
      /is not known here\..*Cause: .*failed\..*Cause: .*cannot be read/s,
    ],
    ["a chain of causes that is a circle", `thrown-circle.${secret}`, /is not known here\..*Cause: /s],
    ["a string", `thrown-text.${secret}`, /Text about \(token\)\./],
    ["a short token", "thrown.ab", /Token \(token\) is not known here\./],
  ])("%s is logged without any part of the token", async (_, token, logged) => {
    const { status, told } = await toldBy("/function", token);
    expect(status).toBe(503);
    expect(told).toMatch(logged);
    for (const part of [token, secret, encodeURIComponent(secret)]) expect(told).not.toContain(part);
  });
});

describe("exceptions of the author's own hook", () => {
  const secret = "Zm9yLW5vYm9keQ~+/x==";
  const tokens = [
    ["an Error with causes", `thrown.${secret}`],
    ["an Error with another message than before", `thrown-late.${secret}`],
    ["a string", `thrown-text.${secret}`],
  ];

  test.each(tokens)("%s reaches neither the client nor the log", async (_, token) => {
    const { status, told } = await toldBy("/throwing", token);
    expect(status).toBe(500);
    for (const part of [token, secret, encodeURIComponent(secret)]) expect(told).not.toContain(part);
    const [, reference = ""] = /Internal error\. Reference: ([\w-]+)/.exec(told) ?? [];
    expect(told).toContain(`mcp-edge: "(auth)" failed (${reference})`);
    if (token.startsWith("thrown-text")) return;
    expect(told).toMatch(/\n +at thrownAbout .*\n +at throwing /);
    expect(told).not.toContain("is not known here");
  });

  test("an exception is distinguished from a mistake of the hook, which the log explains", async () => {
    const { status, told } = await toldBy("/unfit", "token");
    expect(status).toBe(500);
    expect(told).toContain(
      "The function that authenticates callers returned a value of type object. Return { issuer, subject }",
    );
  });

  test.each(tokens)("%s is passed to onError, and not to client or log", async (_, token) => {
    const { status, told } = await toldBy("/heard", token);
    expect(status).toBe(500);
    for (const part of [token, secret, "failed", "known here"]) expect(told).not.toContain(part);
    const [message, reference] = (await read<[string, string][]>("/reported")).at(-1) ?? [];
    expect(message).toMatch(/^(Token|Text about) thrown|^It failed\.$/);
    expect(told).toContain(reference);
  });
});

describe("errors in a handler", () => {
  async function toldInMemory(add: (server: McpServer) => void, method: string, params: Members): Promise<string> {
    const server = new McpServer({ name: "redaction", version: "1.0.0", onError: () => undefined });
    add(server);
    await using client = await connectInMemory(server);
    const result = await client.request(method, params).catch((error: { message: string; data?: unknown }) => error);
    const { message, data } = result as { message?: string; data?: unknown };
    return JSON.stringify({ result, message, data, received: client.received });
  }
  const call = (handler: () => unknown) =>
    toldInMemory((server) => server.tool("read", {}, async () => String(await handler())), "tools/call", {
      name: "read",
    });

  test.each([
    ["that redirects to a URL that may not be requested", `/redirect/302?to=http://127.0.0.1:1/${MARK}`],
    ["that the handler throws", `/${MARK}`],
  ])("do not reach the client if they contain the response of a server %s", async (_, path) => {
    await using upstream = await startUpstream();
    const fetch = createSafeFetch({ privateHosts: [upstream.host], allowHttp: true });
    const told = await call(async () => {
      const response = await fetch(upstream.origin + path);
      throw new Error(await response.text());
    });
    expect(upstream.arrived).toHaveLength(1);
    expect(told).not.toContain(MARK);
    expect(told).toContain('"isError":true');
  });

  test("do not reach the client if they come from a database", async () => {
    const database = {
      prepare: () => {
        throw new Error(MARK);
      },
    };
    expect(await call(() => readSql(database, "SELECT 1"))).not.toContain(MARK);
  });

  test("do not reach the client if a result does not fit its schema", async () => {
    const output = z.object({ secret: z.literal("other") });
    const told = await toldInMemory(
      (server) => server.tool("read", { output }, () => ({ secret: MARK }) as never),
      "tools/call",
      { name: "read" },
    );
    expect(told).not.toContain(MARK);
    expect(told).toContain("does not fit its declaration");
  });

  test("do not reach the client if a validator throws, and neither do the causes of exceptions", async () => {
    const input = z.object({ text: z.string() }).refine(() => {
      throw new Error(MARK, { cause: new Error(MARK) });
    });
    const told = await toldInMemory((server) => server.tool("read", { input }, () => "a"), "tools/call", {
      name: "read",
      arguments: { text: "a" },
    });
    expect(told).not.toContain(MARK);
  });
});
