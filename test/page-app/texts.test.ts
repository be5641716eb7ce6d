/** How the page interprets results, views and recorded calls, without a browser. */
import { describe, expect, test } from "vitest";
import {
  parseStructured,
  sizeOf,
  sourceOf,
  tokensOf,
  toModelPieces,
  withoutDouble,
} from "../../src/page-app/content/content-facts.ts";
import { allHosts, readHosts, withPolicy } from "../../src/page-app/content/view-policy.ts";
import { clock, count, dollars, duration, relative } from "../../src/page-app/parts/text.ts";
import { groupByName, isMatch, toTree } from "../../src/page-app/state/groups.ts";
import { expandTemplate, variablesOf } from "../../src/page-app/state/uri-template.ts";
import { matches } from "../../src/page-app/timeline/filter.ts";
import { describeMessage, tablesOf, toLanes } from "../../src/page-app/timeline/lanes.ts";
import { scrollTo, windowOf } from "../../src/page-app/timeline/window.ts";
import { richEntry, sampleEntry } from "../harness/sample-entries.ts";

describe("numbers and times", () => {
  test.each([
    [0.4, "0.4 ms"],
    [8.6, "9 ms"],
    [1_234, "1.2 s"],
    [42_000, "42 s"],
    [180_000, "3 min"],
    [5_400_000, "1.5 h"],
  ])("%d ms is %s", (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  test("formats prices, counts and times briefly", () => {
    expect([dollars(0), dollars(0.00042), dollars(4.626)]).toEqual(["$0", "$0.00042", "$4.63"]);
    expect([count(1, "row"), count(1_200, "row")]).toEqual(["1 row", "1,200 rows"]);
    expect(clock(Date.UTC(2026, 0, 2, 3, 4, 5, 6))).toMatch(/^\d\d:\d\d:05\.006$/);
    expect([relative(1_000, 3_000), relative(3_000, 1_000)]).toEqual(["2.0 s ago", "in 2.0 s"]);
  });
});

describe("content", () => {
  test("is shown as an image or audio only if its media type and its data are well-formed", () => {
    expect(sourceOf("image/png", "AAAA")).toBe("data:image/png;base64,AAAA");
    expect(sourceOf("image/png;charset=x", "AAAA")).toBe("data:image/png;charset=x;base64,AAAA");
    for (const [type, data] of [
      ["text/html", "AAAA"],
      ["image/png,<script>", "AAAA"],
      ['image/svg+xml" onload="x', "AAAA"],
      ["image/png", "<script>"],
    ] as const) {
      expect(sourceOf(type, data)).toBeUndefined();
    }
    expect([sizeOf("AAAA"), sizeOf("A".repeat(4_096)), sizeOf("A".repeat(4_194_304))]).toEqual([
      "3 bytes",
      "3.0 KiB",
      "3.0 MiB",
    ]);
  });

  test("is JSON if it is an object or an array", () => {
    expect(parseStructured(' {"a":1}')).toEqual({ a: 1 });
    expect(parseStructured("[1]")).toEqual([1]);
    expect([parseStructured("1"), parseStructured("{a}"), parseStructured('"{}"')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("does not repeat the structured result", () => {
    const text = (value: string) => ({ type: "text", text: value }) as const;
    const result = { content: [text('{ "a": 1 }'), text("note")], structuredContent: { a: 1 } };
    expect(withoutDouble(result)).toEqual([text("note")]);
    expect(withoutDouble({ content: [text('{"a":1}')] })).toEqual([text('{"a":1}')]);
  });

  test("for a model omits content for the user, and estimates the tokens of text", () => {
    const pieces = toModelPieces({
      content: [
        { type: "text", text: "12345678" },
        { type: "text", text: "secret", annotations: { audience: ["user"] } },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "resource", resource: { uri: "a:b", text: "inside" } },
        { type: "resource_link", uri: "a:b", name: "b" },
      ],
      isError: true,
    });
    expect(pieces.map(({ text }) => text)).toEqual([
      "The tool failed. The model sees:",
      "12345678",
      "image: image/png, 3 bytes",
      "inside",
      "b: a:b",
      "1 for the user only",
    ]);
    expect(tokensOf(pieces)).toBe(5);
    expect(toModelPieces({ content: [], structuredContent: {} })[0]?.text).toMatch(/^Nothing/);
  });
});

describe("a view", () => {
  const meta = (csp: object) => ({ ui: { csp } });

  test("gets access to requested hosts only if they are origins", () => {
    const hosts = readHosts(
      meta({
        connectDomains: ["https://api.example.com", "wss://x.example:8443", "https://*.example.com"],
        resourceDomains: [
          "https://a.example; script-src *",
          "javascript:1",
          5,
          "https://b.example/path",
          "'unsafe-eval'",
        ],
      }),
    );
    expect(hosts.connect).toEqual(["https://api.example.com", "wss://x.example:8443", "https://*.example.com"]);
    expect(hosts.resource).toEqual([]);
    expect(allHosts(hosts)).toHaveLength(3);
    expect(readHosts(undefined)).toEqual({ connect: [], resource: [], frame: [] });
  });

  test("begins with a policy that forbids external resources", () => {
    const page = withPolicy("  <!DOCTYPE html><script>1</script>");
    expect(page).toMatch(
      /^<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none';[^"<>]*"><script>1<\/script>$/,
    );
    expect(page).toContain("connect-src 'none'");
    const allowed = withPolicy(
      "x",
      readHosts(meta({ connectDomains: ["https://api.example.com"], resourceDomains: ["https://cdn.example"] })),
    );
    expect(allowed).toContain("connect-src https://api.example.com;");
    expect(allowed).toContain("script-src 'unsafe-inline' https://cdn.example;");
  });
});

describe("lists", () => {
  const item = (name: string, group?: unknown) => ({
    name,
    ...(group !== undefined && { _meta: { "mcp-edge/group": group } }),
  });

  test("show items without a group first, and groups in order of appearance", () => {
    const groups = groupByName([item("a", "Y"), item("b"), item("c", "X"), item("d", "Y"), item("e", 5)]);
    expect(groups.map(([name, of]) => [name, of.map((each) => each.name)])).toEqual([
      ["", ["b", "e"]],
      ["Y", ["a", "d"]],
      ["X", ["c"]],
    ]);
  });

  test("are searched in all their texts, ignoring case", () => {
    expect(isMatch(["Get Weather", undefined], "weather")).toBe(true);
    expect(isMatch(["a"], "b")).toBe(false);
    expect(isMatch([], "")).toBe(true);
  });

  test("of resources are trees of their URIs, with single folders merged", () => {
    const resource = (uri: string, group?: string) => ({ ...item(uri, group), uri });
    const tree = toTree([
      resource("file:///a/b/x.md", "G"),
      resource("file:///a/b/y.md", "G"),
      resource("db://t"),
      resource("db://t/1"),
      resource("urn:x"),
    ]);
    expect(JSON.parse(JSON.stringify(tree, ["name", "children", "isGrouped"]))).toEqual([
      {
        name: "file:///a/b",
        isGrouped: true,
        children: [
          { name: "x.md", children: [], isGrouped: true },
          { name: "y.md", children: [], isGrouped: true },
        ],
      },
      {
        name: "db://",
        isGrouped: false,
        children: [{ name: "t", isGrouped: false, children: [{ name: "1", children: [], isGrouped: false }] }],
      },
      { name: "urn:", isGrouped: false, children: [{ name: "x", children: [], isGrouped: false }] },
    ]);
  });
});

describe("URI templates", () => {
  test.each([
    ["a://{x}/{y}", { x: "1", y: "b/c" }, "a://1/b%2Fc"],
    ["a://{+path}", { path: "b/c d" }, "a://b/c%20d"],
    ["logs://recent{?from,to}", { from: "1", to: "" }, "logs://recent?from=1"],
    ["a{/x,y}{#z}", { x: "1", y: "2", z: "3" }, "a/1/2#3"],
    ["a{;x}{.y}{&z*}", { x: "1", y: "2", z: "3" }, "a;x=1.2&z=3"],
    ["a{x:3}", { x: "!" }, "a%21"],
  ])("%s with %j is %s", (template, values, uri) => {
    expect(expandTemplate(template, values)).toBe(uri);
  });

  test("list each variable once", () => {
    expect(variablesOf("a{x}{?y,z*}{x}")).toEqual(["x", "y", "z"]);
  });
});

describe("recorded calls", () => {
  const summary = { ...sampleEntry(1), seq: 1 };

  test("match a filter if they contain all words", () => {
    for (const words of [["book"], ["input-required"], ["cursor"], ["question"], ["2026-07-28", "tools/call"]]) {
      expect(matches(summary, words, false)).toBe(true);
    }
    expect(matches(summary, ["book", "nothing"], false)).toBe(false);
  });

  test("are hidden as housekeeping only if they succeeded", () => {
    const list = { ...summary, method: "tools/list", marks: [] };
    expect(matches({ ...list, outcome: "ok" }, [], true)).toBe(false);
    expect(matches({ ...list, outcome: "ok" }, [], false)).toBe(true);
    expect(matches({ ...list, outcome: "error" }, [], true)).toBe(true);
    expect(matches({ ...list, outcome: "ok", marks: ["exception"] }, [], true)).toBe(true);
    expect(matches({ ...summary, kind: "stream", outcome: "running" }, [], true)).toBe(false);
    expect(matches(summary, [], true)).toBe(true);
  });

  test("have lanes for the client, the Worker, each object and storage, and a chronological list", () => {
    const entry = { ...richEntry("1"), seq: 1 };
    const { lanes, events, totalMs } = toLanes(entry);
    expect(lanes.map(({ title, note }) => `${title} ${note}`.trim())).toEqual([
      "Client mcp-edge page 0.1.0",
      "Worker",
      "session 51bd07e3",
      "hub c04d11fe",
      "Storage",
    ]);
    expect(totalMs).toBe(214);
    expect(events.map(({ atMs }) => atMs)).toEqual(events.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
    expect(events.filter(({ kind }) => kind === "storage")).toHaveLength(28);
    expect(events.find(({ kind }) => kind === "exception")).toMatchObject({ isBad: true, note: "5f0c" });
    expect(tablesOf(entry)[0]).toEqual({ table: "events", statements: 1, rowsRead: 0, rowsWritten: 2 });
    expect(tablesOf(entry).find(({ table }) => table === "parcels")).toEqual({
      table: "parcels",
      statements: 24,
      rowsRead: 24,
      rowsWritten: 0,
    });
  });

  test.each([
    [{ method: "tools/call", params: { name: "add" } }, "tools/call add", false],
    [{ method: "ping" }, "ping", false],
    [{ id: 1, result: { content: [] } }, "result", false],
    [{ id: 1, result: { isError: true } }, "failed tool result", true],
    [{ id: 1, result: { resultType: "input_required" } }, "input required", false],
    [{ id: 1, error: { code: -32602, message: "No" } }, "error -32602: No", true],
    [[{}, {}], "batch of 2", false],
    ["x", "not a message", true],
  ])("show the message %j as %s", (message, text, isBad) => {
    expect(describeMessage(message)).toEqual({ text, isBad });
  });

  test("are rendered only if they are visible", () => {
    expect(windowOf(0, 500, 50, 10_000)).toEqual({ first: 0, last: 18 });
    expect(windowOf(5_000, 500, 50, 10_000)).toEqual({ first: 92, last: 118 });
    expect(windowOf(500_000, 500, 50, 10_000)).toEqual({ first: 9_992, last: 10_000 });
    expect(windowOf(9_999, 500, 50, 3)).toEqual({ first: 0, last: 3 });
    expect([scrollTo(0, 100, 500, 50), scrollTo(5, 100, 500, 50), scrollTo(12, 100, 500, 50)]).toEqual([
      0,
      undefined,
      150,
    ]);
  });
});
