/** `mcp-edge doctor` finds each planted fault of the lists and for pages, and nothing else. */
import { describe, expect, test } from "vitest";
import { doctor, idsOf, plant, TOOL } from "./planted.ts";
import { error, expectFound, isMethod, type Row } from "./rows.ts";

/** Faults of the lists, and limits of hosts. */
const LISTS: readonly Row[] = [
  {
    name: "a list that fails",
    fault: { reply: (request) => (isMethod(request, "tools/list") ? error(200, "boom") : undefined) },
    found: ["tools-failed breaks"],
    by: "server",
    fix: /tools/,
  },
  {
    name: "a list without end",
    fault: {
      reply: ({ message }) =>
        message.method === "tools/list"
          ? { status: 200, body: { jsonrpc: "2.0", id: message.id, result: { tools: [], nextCursor: "again" } } }
          : undefined,
    },
    found: ["list-endless breaks"],
    by: "server",
    fix: /nextCursor/,
  },
  {
    name: "tools that are not declared",
    fault: { initialized: { capabilities: {} } },
    found: ["tools-undeclared breaks"],
    by: "server",
    fix: /Declare/,
  },
  {
    name: "a tool without a schema",
    fault: { tools: [TOOL, { name: "bare", description: "x" }] },
    found: ["tool-invalid breaks"],
    by: "server",
    fix: /"type": "object"/,
  },
  {
    name: "two tools with one name",
    fault: { tools: [TOOL, TOOL] },
    found: ["name-duplicate breaks"],
    by: "server",
    fix: /Rename/,
  },
  {
    name: "a schema that hosts drop",
    fault: { tools: [{ ...TOOL, inputSchema: { type: "object", description: "x".repeat(16_400) } }] },
    found: ["schema-too-large degrades"],
    by: "host",
    fix: /Shorten the descriptions/,
  },
  {
    name: "a schema that a model's provider would refuse",
    fault: { tools: [{ ...TOOL, inputSchema: { type: "object", anyOf: [{ required: ["a"] }] } }] },
    found: ["schema-combined degrades"],
    by: "host",
    fix: /one object/,
  },
  {
    name: "a name with a dot",
    fault: { tools: [{ ...TOOL, name: "files.read" }] },
    found: ["name-characters breaks", "name-characters degrades"],
    by: "host",
    fix: /_ in place of other characters/,
  },
  {
    name: "a name that is too long with the name of the server",
    fault: { tools: [{ ...TOOL, name: "a".repeat(54) }] },
    found: ["name-too-long degrades"],
    by: "host",
    fix: /shorter name/,
  },
  {
    name: "a description that is cut",
    fault: { tools: [{ ...TOOL, description: "x".repeat(2_049) }] },
    found: ["description-cut degrades"],
    by: "host",
    fix: /what matters first/,
  },
  {
    name: "instructions that are cut",
    fault: { initialized: { instructions: "x".repeat(2_049) } },
    found: ["instructions-cut degrades"],
    by: "host",
    fix: /what matters first/,
  },
  {
    name: "two names that are equal after the host has cut them",
    fault: {
      initialized: { serverInfo: { name: "confluence-of-the-department", version: "1" } },
      tools: ["create", "delete"].map((verb) => ({ ...TOOL, name: `${verb}PageWithAttachmentsAndPermissions` })),
    },
    args: ["--host", "gemini-cli"],
    found: ["name-collision degrades"],
    by: "host",
    fix: /shorter names/,
  },
  {
    name: "too many tools",
    fault: { tools: Array.from({ length: 129 }, (_, index) => ({ ...TOOL, name: `tool${index}` })) },
    found: ["too-many-tools breaks", "too-many-tools breaks"],
    by: "host",
    fix: /Combine tools/,
  },
];

/** Faults that concern pages. */
const PAGES: readonly Row[] = [
  {
    name: "no response to a preflight",
    fault: { reply: ({ method }) => (method === "OPTIONS" ? { status: 404 } : undefined) },
    found: ["cors-preflight breaks"],
    by: "configuration",
    fix: /Access-Control-Allow-Origin/,
  },
  {
    name: "a preflight that does not admit Authorization",
    fault: {
      reply: ({ method }, correct) => {
        const headers = { "access-control-allow-origin": "*", "access-control-expose-headers": "Mcp-Session-Id" };
        if (method === "OPTIONS") return { status: 204, headers: { ...headers, "access-control-allow-headers": "*" } };
        const { headers: own, ...rest } = correct();
        return { ...rest, headers: { ...own, ...headers } };
      },
    },
    args: ["--header", "Authorization: Bearer secret-token-123"],
    found: ["cors-headers breaks"],
    by: "configuration",
    fix: /Access-Control-Allow-Headers/,
  },
  {
    name: "a response that does not admit the page, unlike the preflight",
    fault: {
      reply: ({ method }) => {
        const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "authorization, *" };
        return method === "OPTIONS" ? { status: 204, headers } : undefined;
      },
    },
    found: ["cors-response breaks"],
    by: "configuration",
    fix: /with all responses/,
  },
  {
    name: "a session id that a page cannot read",
    fault: {
      reply: ({ method }, correct) => {
        const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "authorization, *" };
        if (method === "OPTIONS") return { status: 204, headers };
        const { headers: own, ...rest } = correct();
        return { ...rest, headers: { ...own, ...headers } };
      },
    },
    found: ["cors-exposed breaks"],
    by: "configuration",
    fix: /Access-Control-Expose-Headers/,
  },
];

describe("the lists", () => {
  test.each(LISTS)("finds $name", (row) => expectFound(row));
});

describe("pages", () => {
  test.each(PAGES)("finds $name", (row) => expectFound(row, ["--origin", "https://app.example.com"]));
});

test("calls no tool unless --call names one, and finds a result that hosts cut", async () => {
  const text = "x".repeat(160_000);
  await using server = await plant({
    reply: ({ message }) =>
      message.method === "tools/call"
        ? { status: 200, body: { jsonrpc: "2.0", id: message.id, result: { content: [{ type: "text", text }] } } }
        : undefined,
  });
  expect(idsOf(await doctor(server.url))).toEqual([]);
  expect(server.received).not.toContain("tools/call");
  expect(idsOf(await doctor(server.url, "--call", "add"))).toEqual(["result-cut degrades", "result-cut degrades"]);
  expect(idsOf(await doctor(server.url, "--call", "ad"))).toEqual(["tool-unknown breaks"]);
  await using failing = await plant({
    reply: (request) => (isMethod(request, "tools/call") ? error(500, "boom") : undefined),
  });
  expect(idsOf(await doctor(failing.url, "--call", "add"))).toEqual(["call-failed breaks"]);
});

describe("a hostile server", () => {
  const listing = (text: string) =>
    plant({
      reply: ({ message }) =>
        message.method === "tools/list"
          ? {
              status: 200,
              headers: { "content-type": "application/json" },
              body: text.replace("ID", String(message.id)),
            }
          : undefined,
    });

  test("cannot exhaust the stack with a nested schema", async () => {
    const schema = `{"type":"object","a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
    const list = `{"tools":[{"name":"deep","inputSchema":${schema}}]}`;
    await using server = await listing(`{"jsonrpc":"2.0","id":ID,"result":${list}}`);
    expect(idsOf(await doctor(server.url))).toEqual(["tools-failed breaks"]);
  });

  test("cannot fill the memory with a response", async () => {
    await using server = await listing("x".repeat(9 * 1024 * 1024));
    expect(idsOf(await doctor(server.url))).toEqual(["tools-failed breaks"]);
  });
});
