import { describe, expect, test } from "vitest";
import { type About, checkMessage } from "./check.ts";
import { MODERN_META, notification, request, result } from "./samples.ts";
import { specOf } from "./spec.ts";

const server = (version: string, requestMethod?: string): About => ({ version, from: "server", requestMethod });
const TOOL = { name: "t", inputSchema: { type: "object" } };
const LISTED = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
const INFO = { name: "s", version: "1" };

function listed(version: string, tool: object): unknown {
  return result({ ...(version === "2026-07-28" ? LISTED : {}), tools: [{ ...TOOL, ...tool }] });
}

function initialized(version: string, more: { serverInfo?: object; capabilities?: object }): unknown {
  const { serverInfo = {}, capabilities = {} } = more;
  return result({ protocolVersion: version, capabilities, serverInfo: { ...INFO, ...serverInfo } });
}

/** Messages of a server with something that their version does not have. */
const LACKING: readonly [name: string, version: string, method: string, message: unknown, problem: string][] = [
  ["tool annotations", "2024-11-05", "tools/list", listed("2024-11-05", { annotations: {} }), "/tools/0/annotations"],
  ["a tool's title", "2025-03-26", "tools/list", listed("2025-03-26", { title: "T" }), "/tools/0/title"],
  ["a tool's _meta", "2025-03-26", "tools/list", listed("2025-03-26", { _meta: {} }), "/tools/0/_meta"],
  ["an output schema", "2025-03-26", "tools/list", listed("2025-03-26", { outputSchema: {} }), "/tools/0/outputSchema"],
  ["icons", "2025-06-18", "tools/list", listed("2025-06-18", { icons: [] }), "/tools/0/icons"],
  ["execution", "2026-07-28", "tools/list", listed("2026-07-28", { execution: {} }), "/tools/0/execution"],
  [
    "an annotation",
    "2025-11-25",
    "tools/list",
    listed("2025-11-25", { annotations: { cost: 1 } }),
    "/tools/0/annotations/cost",
  ],
  ["an invented property", "2026-07-28", "tools/list", listed("2026-07-28", { price: 1 }), "/tools/0/price"],
  ["a list's cache hint", "2025-11-25", "tools/list", result({ tools: [], ttlMs: 0 }), "/ttlMs"],
  ["resultType", "2025-11-25", "tools/call", result({ content: [], resultType: "complete" }), "/resultType"],
  [
    "structuredContent",
    "2025-03-26",
    "tools/call",
    result({ content: [], structuredContent: {} }),
    "/structuredContent",
  ],
  [
    "a title of the server",
    "2025-03-26",
    "initialize",
    initialized("2025-03-26", { serverInfo: { title: "S" } }),
    "/serverInfo/title",
  ],
  [
    "a website",
    "2025-06-18",
    "initialize",
    initialized("2025-06-18", { serverInfo: { websiteUrl: "https://a.b" } }),
    "/serverInfo/websiteUrl",
  ],
  [
    "completions",
    "2024-11-05",
    "initialize",
    initialized("2024-11-05", { capabilities: { completions: {} } }),
    "/capabilities/completions",
  ],
  [
    "extensions",
    "2025-11-25",
    "initialize",
    initialized("2025-11-25", { capabilities: { extensions: {} } }),
    "/capabilities/extensions",
  ],
  [
    "a sub-capability",
    "2025-06-18",
    "initialize",
    initialized("2025-06-18", { capabilities: { tools: { subscribe: true } } }),
    "/capabilities/tools/subscribe",
  ],
  [
    "lastModified",
    "2025-03-26",
    "tools/call",
    result({ content: [{ type: "text", text: "", annotations: { lastModified: "x" } }] }),
    "/content/0/annotations/lastModified",
  ],
  [
    "_meta on content",
    "2025-03-26",
    "tools/call",
    result({ content: [{ type: "text", text: "", _meta: {} }] }),
    "/content/0/_meta",
  ],
  [
    "an envelope member",
    "2026-07-28",
    "tools/call",
    { ...result({ resultType: "complete", content: [] }), extra: 1 },
    "/extra",
  ],
  [
    "a member of an error",
    "2025-11-25",
    "",
    { jsonrpc: "2.0", id: 1, error: { code: 1, message: "m", stack: "s" } },
    "/error/stack",
  ],
  [
    "progress message",
    "2024-11-05",
    "",
    notification("notifications/progress", { progressToken: 1, progress: 1, message: "m" }),
    "/message",
  ],
];

test("an invented property is a problem only if the specification's schemas are available", () => {
  const problems = checkMessage(listed("2025-11-25", { price: 1 }), server("2025-11-25", "tools/list"));
  expect(problems.length).toBe(specOf("2025-11-25") === undefined ? 0 : 1);
});

// Only the specification's schemas list the properties of a version.
if (specOf("2026-07-28") !== undefined) {
  describe("a server that sends what its version does not have", () => {
    for (const [name, version, method, message, path] of LACKING) {
      test(`${name} is a problem of ${version}`, () => {
        const problems = checkMessage(message, server(version, method === "" ? undefined : method));
        expect(problems).toContainEqual(expect.stringContaining(`${path} is not a property`));
      });
    }

    for (const [type, version, known] of [
      ["audio", "2024-11-05", "text, image, resource"],
      ["resource_link", "2025-03-26", "text, image, audio, resource"],
    ] as const) {
      test(`${type} content is a problem of ${version}`, () => {
        const block = { type, data: "aGk=", mimeType: "audio/wav", uri: "test://a", name: "a" };
        const problems = checkMessage(result({ content: [block] }), server(version, "tools/call"));
        expect(problems).toContainEqual(`/content/0/type "${type}" does not exist in ${version} (${known})`);
      });
    }

    test("the contents of _meta, experimental, extensions and JSON Schemas are not checked", () => {
      const schema = { type: "object", "x-anything": { title: 1 } };
      const tool = { ...TOOL, inputSchema: schema, outputSchema: schema, _meta: { any: { thing: 1 } } };
      expect(checkMessage(listed("2026-07-28", tool), server("2026-07-28", "tools/list"))).toEqual([]);
      const capabilities = { experimental: { a: { b: 0.5 } }, extensions: { "a/b": { c: null } } };
      const discovered = { ...LISTED, supportedVersions: ["2026-07-28"], capabilities };
      expect(checkMessage(result(discovered), server("2026-07-28", "server/discover"))).toEqual([]);
    });

    test("additional properties of a client are not checked", () => {
      const message = request("tools/call", { _meta: MODERN_META, name: "t", extra: 1 });
      expect(checkMessage(message, { version: "2026-07-28", from: "client" })).toEqual([]);
    });
  });
}
