/** `mcp-edge doctor` ends, tells the truth and prints no secrets, whatever a server sends. */
import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { redactText } from "../../../src/cli/terminal/redact.ts";
import { NODE } from "../../oracle/node.ts";
import { cli } from "../run.ts";
import { challenge, doctor, type Fault, idsOf, NO_TOKENS, plant, TOOL, tokenOf } from "./planted.ts";
import { isMethod } from "./rows.ts";

/** The beginning of a JWT, many times, without a complete one. */
const BEGINNINGS = "eyJ-".repeat(500_000);

describe("the size of what a server sends", () => {
  test("scopes are compared in linear time, and only a few are printed", async () => {
    const scopes = (prefix: string) => Array.from({ length: 30_000 }, (_, index) => prefix + index.toString(36));
    await using server = await plant({
      isProtected: true,
      resource: () => ({ scopes_supported: scopes("a") }),
      issuer: () => ({ scopes_supported: scopes("b") }),
    });
    const report = await doctor(server.url);
    expect(idsOf(report)).toEqual(["scope-unknown note"]);
    expect(report.findings[0]?.what).toContain("a0 a1 a2 a3 a4 and 29995 more");
  });

  test("text that begins like many tokens is redacted in linear time", async () => {
    expect(redactText(BEGINNINGS)).toHaveLength(BEGINNINGS.length);
    const token = tokenOf({ sub: "user" });
    expect(redactText(`${BEGINNINGS} ${token}.`)).toMatch(/ \[redacted\]\.$/);
    await using server = await plant({ tools: [{ ...TOOL, name: BEGINNINGS }] });
    const report = await doctor(server.url);
    expect(idsOf(report)).toContain("name-characters breaks");
    expect(Math.max(...report.findings.map(({ what }) => what.length))).toBeLessThanOrEqual(1_000);
  });

  test("a page of a list may have more items than a call has arguments", async () => {
    const tools = `[${"0,".repeat(300_000)}0]`;
    await using server = await plant({
      reply: (request) =>
        isMethod(request, "tools/list")
          ? {
              status: 200,
              headers: { "content-type": "application/json" },
              body: `{"jsonrpc":"2.0","id":${request.message.id},"result":{"tools":${tools}}}`,
            }
          : undefined,
    });
    expect(idsOf(await doctor(server.url))).toEqual(["tool-invalid breaks"]);
  });
});

test("members of metadata with a wrong type do not end the command", async () => {
  const forbidden: Fault["reply"] = ({ path, origin }) =>
    path === "/mcp" ? { ...challenge(origin, ', error="insufficient_scope", scope="x"'), status: 403 } : undefined;
  await using server = await plant({
    isProtected: true,
    reply: forbidden,
    issuer: () => ({ scopes_supported: {} }),
  });
  const token = tokenOf({ scope: "read" });
  expect(idsOf(await doctor(server.url, "--header", `Authorization: Bearer ${token}`))).toEqual(["token-scope breaks"]);
});

test("metadata on another host is correct if it is about the server", async () => {
  await using other = await plant({
    reply: ({ path }) =>
      path === "/meta" ? { status: 200, body: { resource: about(), authorization_servers: [issuer()] } } : undefined,
  });
  const place = other.url.replace("/mcp", "/meta");
  await using server = await plant({
    isProtected: true,
    reply: ({ path }) =>
      path === "/mcp"
        ? { status: 401, headers: { "www-authenticate": `Bearer resource_metadata="${place}"` } }
        : undefined,
  });
  let about = () => server.url;
  const issuer = () => new URL(server.url).origin;
  expect(idsOf(await doctor(server.url))).toEqual([]);
  about = () => "http://internal.example:8080/mcp";
  expect(idsOf(await doctor(server.url))).toEqual(["metadata-host breaks"]);
});

describe("secrets", () => {
  test("of a command are not printed", async () => {
    const { stdout } = await cli(["doctor", "--json", "--", NODE, "-e", "0", "--api-key", "hunter2hunter2"], {
      cwd: tmpdir(),
      env: NO_TOKENS,
    });
    expect(JSON.parse(stdout)).toMatchObject({ server: expect.stringContaining("--api-key [redacted]") });
    expect(stdout).not.toContain("hunter2");
  });

  test("of a header are not printed if a server repeats them without their scheme", async () => {
    await using server = await plant({
      reply: ({ headers, message }) => {
        const said = String(headers.authorization).replace("Basic ", "");
        const text = `bad: ${said}, ${said.slice(0, 3)}\u200b${said.slice(3)}`;
        return {
          status: 400,
          body: { jsonrpc: "2.0", id: message.id ?? null, error: { code: -32602, message: text } },
        };
      },
    });
    const report = await doctor(server.url, "--header", "Authorization: Basic dXNlcjpodW50ZXIy");
    expect(idsOf(report)).toEqual(["handshake-refused breaks"]);
    expect(JSON.stringify(report)).not.toContain("dXNlcjpodW50ZXIy");
  });
});
