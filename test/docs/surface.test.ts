/** The public surface changes on purpose, and every name and member of it has a doc comment. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LIMITS_FILE, limitsDocument, missingLimits } from "../../scripts/api/limits.ts";
import { OPTIONS_FILE, optionsDocument } from "../../scripts/api/options.ts";
import { differencesOf, hiddenOf, readReports, reportsOf } from "../../scripts/api/report.ts";
import { type PublicName, readSurface } from "../../scripts/api/surface.ts";
import { coverageOf } from "../../scripts/api/undocumented.ts";

const entries = readSurface();

test("the public surface matches docs/reference/api", () => {
  expect(entries.length).toBeGreaterThan(10);
  expect(differencesOf(reportsOf(entries), readReports()), "npm run build && npm run api -- --write").toEqual([]);
});

test("a report contains what is exported and leaves out private members", () => {
  const report = reportsOf(entries).get("index.txt") ?? "";
  expect(report).toContain("export declare class McpServer");
  expect(report).not.toMatch(/^\s+(private|#)/m);
});

test("a changed line, a new file and a removed file are each reported as a difference", () => {
  const [a, b] = [new Map([["a.txt", "one\ntwo"]]), new Map([["a.txt", "one\n2"]])];
  expect(differencesOf(a, b)).toEqual(['docs/reference/api/a.txt:2: was "2", is "two"']);
  expect(differencesOf(a, new Map())).toHaveLength(1);
  expect(differencesOf(new Map(), a)).toHaveLength(1);
  expect(differencesOf(a, a)).toEqual([]);
});

test("every name that the public surface mentions is exported by an entry", () => {
  expect(hiddenOf(entries)).toEqual([]);
});

test("a name that is mentioned or extended but not exported is reported", () => {
  const [first] = entries.flatMap(({ names }) => names);
  if (!first) throw new Error("There is no public name.");
  const hidden = { name: "Hidden", file: "core/hidden.d.ts" };
  const mentioning = { ...first, name: "Shown", mentions: [hidden] };
  const extended = { ...first, name: "Base", isExported: false };
  const entry = { module: "mcp-edge/more", file: "", names: [mentioning, extended] };
  expect(hiddenOf([...entries, entry])).toEqual([
    "src/core/hidden.ts: no entry exports Hidden, which Shown mentions",
    `src/${first.file.replace(".d.ts", ".ts")}: no entry exports Base, which Base mentions`,
  ]);
});

test("names and members without a doc comment, or with only tags, are reported", () => {
  const members = entries.flatMap(({ names }) => names).find(({ name }) => name === "Annotations")?.members ?? [];
  expect(members.map(({ name, doc }) => [name, doc !== ""])).toContainEqual(["priority", true]);
  const bare = members.map((member) => ({ ...member, doc: "" })).slice(0, 1);
  const name: PublicName = {
    name: "Bare",
    file: "core/bare.d.ts",
    isExported: true,
    text: "",
    doc: "",
    tags: [["default", "1"]],
    members: bare,
    inherited: [],
    mentions: [],
    bases: [],
  };
  expect(coverageOf([{ module: "mcp-edge", file: "", names: [name, name] }])).toEqual({
    missing: ["src/core/bare.ts: Bare has no doc comment", "src/core/bare.ts: Bare.audience has no doc comment"],
    names: 1,
    members: 1,
  });
});

test("docs/reference/options.md matches the doc comments of the options", () => {
  const document = optionsDocument(entries);
  expect(readFileSync(OPTIONS_FILE, "utf8"), "npm run build && npm run docs:reference").toBe(document);
  expect(document).toContain("| `bodyBytesMax` | `number` | 4,194,304 |");
  // An option of an interface that is extended, with a default of its own.
  // `Partial` makes options of limits that a session always has.
  expect(document).toMatch(/\| `inFlightMax` \| `number` \| 64 \|/);
  expect(document).toMatch(
    /### ResourceTemplateOptions[\s\S]*?\| `name` \| `string` \| the URI, or the URI template \|/,
  );
});

test("docs/reference/limits.md has every number that limits a server, with its value", () => {
  expect(missingLimits(entries), "tag it with @limit, or add its options to scripts/api/limits.ts").toEqual([]);
  const document = limitsDocument(entries);
  expect(readFileSync(LIMITS_FILE, "utf8"), "npm run build && npm run docs:reference").toBe(document);
  for (const row of [
    /^\| `bodyBytesMax` \| `limits` \| 4,194,304 \| bytes \| .*refused with 413/m,
    /^\| `inFlightMax` \| `sessions\(\)` \| 64 \| count \| /m,
    /^\| `perMs` \| `rates\(\)` \| required \| ms \| /m,
    /^\| `TOKEN_MAX` of `src\/worker\/access\/auth\/token\.ts` \| 16,384 \| characters \| /m,
    /^\| `CONTENTS_MAX` of `src\/telemetry\/conventions\.ts` \| 4,096 \| characters \| /m,
  ]) {
    expect(document).toMatch(row);
  }
});

test("a limit that the table lacks is reported", () => {
  const numeric = { name: "callsMax", text: "", doc: "The most calls.", tags: [], isOptional: true, type: "number" };
  const hooks: PublicName = {
    name: "HooksOptions",
    file: "worker/hooks.d.ts",
    isExported: true,
    text: "export interface HooksOptions",
    doc: "",
    tags: [],
    members: [numeric],
    inherited: [],
    mentions: [],
    bases: [],
  };
  const more = { module: "mcp-edge/worker/hooks", file: "", names: [hooks] };
  expect(missingLimits([...entries, more])).toEqual(["mcp-edge/worker/hooks HooksOptions"]);
});
