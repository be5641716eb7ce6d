/** Recording files, comparisons, and entries that are copied as curl commands and tests. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { transform } from "esbuild";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { RecorderInfo } from "../../src/recorder/api.ts";
import type { Entry } from "../../src/recorder/entry.ts";
import { Recorder } from "../../src/recorder/recorder.ts";
import { compareEntries } from "../../src/recorder/recording/compare.ts";
import { copyAsCurl } from "../../src/recorder/recording/curl.ts";
import { parseRecording, toRecording } from "../../src/recorder/recording/file.ts";
import { copyAsTest } from "../../src/recorder/recording/test-file.ts";
import { findSecrets, listTools, recordPlanted } from "./planted-secrets.ts";

const INFO: RecorderInfo = {
  mode: "dev",
  endpoint: { url: "http://localhost:8787/mcp", path: "/mcp" },
  contents: false,
  faults: false,
  version: "0.1.0",
};

const folder = mkdtempSync(join(tmpdir(), "mcp-edge-curl-"));
afterAll(() => rmSync(folder, { recursive: true }));

function createRecorder(contents: boolean): Recorder {
  return new Recorder({ contents, endpointPath: "/mcp", hash: (text) => text.padEnd(16, "0") });
}

interface Call {
  readonly args?: unknown;
  readonly result?: object;
  readonly headers?: readonly (readonly [string, string])[];
  readonly contents?: boolean;
}

/** Records one call of a tool. */
function record(
  { args = {}, result = {}, headers = [], contents = true }: Call,
  recorder = createRecorder(contents),
): Entry {
  const all = [["Content-Type", "application/json"], ["MCP-Protocol-Version", "2026-07-28"], ...headers] as const;
  const exchange = recorder.begin({ atMs: 1_700_000_000_000, method: "POST", path: "/mcp", headers: all });
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "tool", arguments: args } };
  exchange.requestBody({ json: message, characters: 100 });
  exchange.response(200, [["Content-Type", "application/json"]]);
  exchange.responseBody({ jsonrpc: "2.0", id: 1, result }, 1_700_000_000_010, 100);
  exchange.complete(1_700_000_000_010);
  return [...recorder.entries()].at(-1) as Entry;
}

describe("a file", () => {
  test("contains all entries, and can be read again", () => {
    const recorder = createRecorder(true);
    listTools(recorder);
    recordPlanted(recorder);
    const file = JSON.parse(JSON.stringify(toRecording(recorder.entries(), INFO, 1)));
    expect(parseRecording(file)).toEqual([...recorder.entries()].map((entry) => ({ ...entry, seq: 0 })));
    const other = createRecorder(false);
    const ids = other.import(parseRecording(file));
    const entries = [...other.entries()];
    expect(entries.map(({ id }) => id)).toEqual(ids);
    expect(entries.map(({ messages, invocations }) => [messages, invocations])).toEqual(
      [...recorder.entries()].map(({ messages, invocations }) => [messages, invocations]),
    );
    expect(other.summaries().map(({ target }) => target)).toEqual(recorder.summaries().map(({ target }) => target));
  });

  test("preserves the links between its entries", () => {
    const recorder = createRecorder(true);
    const entry = record({}, recorder);
    const linked = {
      ...entry,
      id: "8",
      related: [
        { id: "9", why: "round" as const },
        { id: "99", why: "task" as const },
      ],
    };
    const [first = "", second = ""] = recorder.import([linked, { ...entry, id: "9" }]);
    expect(recorder.entry(first)?.related).toEqual([{ id: second, why: "round" }]);
  });

  test.each([
    [null, "This file is not a recording of mcp-edge."],
    [{ format: "har" }, "This file is not a recording of mcp-edge."],
    [{ format: "mcp-edge-recording", formatVersion: 2 }, "This recording was written by a newer version of mcp-edge."],
    [{ format: "mcp-edge-recording", formatVersion: 1 }, "The recording has no entries."],
    [{ format: "mcp-edge-recording", formatVersion: 1, entries: [1] }, "Entry 1 of the recording is not an object."],
    [
      { format: "mcp-edge-recording", formatVersion: 1, entries: Array.from({ length: 10_001 }, () => ({})) },
      "The recording has more than 10000 entries.",
    ],
  ])("refuses %j", (file, problem) => {
    expect(() => parseRecording(file)).toThrow(problem);
  });

  test("that is untrusted becomes entries of the same form, and unknown members are removed", () => {
    const keys = ["id", "kind", "http", "marks", "messages", "invocations", "related", "findings", "counts", "request"];
    const value = fc.object({ key: fc.constantFrom(...keys, "headers", "spans", "logs", "__proto__"), maxDepth: 4 });
    fc.assert(
      fc.property(value, (entry) => {
        const file = JSON.parse(JSON.stringify({ format: "mcp-edge-recording", formatVersion: 1, entries: [entry] }));
        const [parsed] = parseRecording(file) as [Entry];
        expect(parseRecording({ ...file, entries: [JSON.parse(JSON.stringify(parsed))] })).toEqual([parsed]);
        const recorder = createRecorder(false);
        recorder.import([parsed]);
        expect(recorder.summaries()).toHaveLength(1);
      }),
    );
  });

  test("with deep and long values is truncated", () => {
    let deep: unknown = "end";
    for (let depth = 0; depth < 5_000; depth += 1) deep = [deep];
    const messages = [
      { atMs: 1, from: "client", message: deep },
      { atMs: 1, from: "server", message: "x".repeat(100_000) },
    ];
    const file = { format: "mcp-edge-recording", formatVersion: 1, entries: [{ messages }] };
    const [entry] = parseRecording(file) as [Entry];
    expect(JSON.stringify(entry.messages[0]?.message).length).toBeLessThan(200);
    expect(String(entry.messages[1]?.message).length).toBeLessThan(100_000);
  });
});

describe("a comparison", () => {
  test("of equal calls has no differences, regardless of their ids, times and references", () => {
    const result = (id: string, at: string) => ({ content: [{ type: "text", text: `Reference: ${id} at ${at}` }] });
    const one = record({ result: result("05a8c4cf-055e-4cfd-88ed-6c4b35576b5b", "2026-11-26T19:14:13.914Z") });
    const other = record({ result: result("f3d4fd27-fbdd-407e-afa8-6281e452afd3", "2027-01-01T00:00:00Z") });
    expect(compareEntries([one], [other])).toEqual({ pairs: [["1", "1"]], differences: [] });
  });

  test("lists the paths at which two calls differ", () => {
    const one = record({ result: { content: [{ type: "text", text: "sun" }], isError: false } });
    const other = record({ result: { content: [{ type: "text", text: "rain" }], isError: true } });
    const where = compareEntries([one], [other]).differences.map((each) => [each.where, each.left, each.right]);
    expect(where).toEqual([
      ["outcome", "ok", "tool-error"],
      ["outcomeText", null, "rain"],
      ["messages[1].message.result.content[0].text", "sun", "rain"],
      ["messages[1].message.result.isError", false, true],
    ]);
  });

  test("pairs the calls of two recordings, and lists calls that only one of them contains", () => {
    const call = (id: string, target: string): Entry => ({ ...record({}), id, target });
    const { pairs, differences } = compareEntries(
      [call("1", "a"), call("2", "b"), call("3", "a")],
      [call("4", "b"), call("5", "a")],
    );
    expect(pairs).toEqual([
      ["1", "5"],
      ["2", "4"],
      ["3", undefined],
    ]);
    expect(differences).toEqual([{ a: "3", where: "entry", left: "request tools/call a", right: null }]);
  });
});

describe("a command for curl", () => {
  /** Runs a command with a program that replaces curl and prints its arguments. */
  function run(command: string, env: Readonly<Record<string, string>> = {}): string[] {
    const curl = join(folder, "curl");
    writeFileSync(curl, `#!/bin/sh\nfor each in "$@"; do printf '%s\\0' "$each"; done\n`);
    chmodSync(curl, 0o755);
    const path = `${folder}${delimiter}${process.env.PATH}`;
    const output = execFileSync("sh", ["-c", command], { env: { PATH: path, ...env }, encoding: "utf8" });
    return output.split("\0").slice(0, -1);
  }

  test("sends the same request, with variables instead of secrets", () => {
    const headers = [
      ["Authorization", "Bearer secret-token-1"],
      ["Mcp-Session-Id", "secret-session-1"],
      ["Host", "x"],
    ] as const;
    const copied = copyAsCurl(record({ args: { city: "São Paulo" }, headers }), "http://localhost:8787");
    const { text } = copied as { text: string };
    expect(text).not.toContain("secret-");
    const args = run(text, { TOKEN: "t", SESSION: "s" });
    expect(args).toEqual([
      "--no-buffer",
      "http://localhost:8787/mcp",
      "--header",
      "Content-Type: application/json",
      "--header",
      "MCP-Protocol-Version: 2026-07-28",
      "--header",
      "Authorization: Bearer t",
      "--header",
      "Mcp-Session-Id: s",
      "--data",
      JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "tool", arguments: { city: "São Paulo" } },
      }),
    ]);
  });

  test("quotes arguments so that they cannot inject shell code", { tags: "long" }, () => {
    const hostile = fc.string({ unit: fc.constantFrom("'", '"', "\\", "$", "`", "(", ")", ";", "\n", "a", " ", "!") });
    fc.assert(
      fc.property(hostile, (city) => {
        const { text } = copyAsCurl(record({ args: { city } }), "http://localhost") as { text: string };
        const sent = JSON.parse(run(text).at(-1) ?? "") as { params: { arguments: unknown } };
        expect(sent.params.arguments).toEqual({ city });
      }),
      { numRuns: 30 },
    );
  });

  test("reports that arguments were not recorded", () => {
    expect(copyAsCurl(record({ args: { city: "Oslo" }, contents: false }), "http://localhost")).toEqual({
      problem: expect.stringContaining("--contents"),
    });
    expect(copyAsCurl(record({ args: {}, contents: false }), "http://localhost")).toHaveProperty("text");
  });
});

describe("a test", () => {
  const options = { server: { kind: "worker", config: "wrangler.toml" }, path: "/mcp", find: () => undefined } as const;

  test("masks ids, times and references, and expects all other values", () => {
    const reference = "05a8c4cf-055e-4cfd-88ed-6c4b35576b5b";
    const content = [{ type: "text", text: `Failed (a/b). Reference: ${reference}` }];
    const entry = record({
      result: { content, structuredContent: { at: 1_795_723_219_677, sum: 8, big: "2026-11-26T19:14:13Z" } },
    });
    const { text } = copyAsTest(entry, options) as { text: string };
    expect(text).toContain("text: expect.stringMatching(/^Failed \\(a\\/b\\)\\. Reference: [\\da-fA-F-]{36}$/)");
    expect(text).toContain("at: expect.any(Number)");
    expect(text).toContain("sum: 8");
    expect(text).not.toContain(reference);
    expect(text).toContain('startWorker({\n  wrangler: "wrangler.toml",\n})');
  });

  test("is valid TypeScript, whatever the texts of client and server contain", async () => {
    const hostile = fc.string({
      unit: fc.constantFrom("'", '"', "`", "\\", "${", "*/", "//", "\n", "\u2028", "</script>", "a", "\u0000"),
    });
    await fc.assert(
      fc.asyncProperty(hostile, hostile, async (one, other) => {
        const entry = record({
          args: { [one]: other },
          result: { content: [{ type: "text", text: one + other }], [other]: one },
        });
        const client = { name: one, version: other };
        const { text } = copyAsTest({ ...entry, client, target: one, session: "s" }, options) as { text: string };
        const { code } = await transform(text, { loader: "ts" });
        expect(code).toContain("startWorker");
        // Only functions that the generated test itself uses are called.
        expect(new Set([...code.matchAll(/\b(\w+)\(/g)].map(([, name]) => name))).not.toContain("a");
      }),
      { numRuns: 60 },
    );
  });

  test("is not created from exchanges that are incomplete or not fully recorded", () => {
    const entry = record({ args: { city: "Oslo" }, contents: false });
    expect(copyAsTest(entry, options)).toEqual({ problem: expect.stringContaining("--contents") });
    expect(copyAsTest({ ...record({}), outcome: "cut-by-client" }, options)).toHaveProperty("problem");
    expect(copyAsTest({ ...record({}), kind: "stream" }, options)).toHaveProperty("problem");
  });
});

test("exports and copies contain no secrets without contents, and no tokens with contents", { tags: "long" }, () => {
  for (const contents of [false, true]) {
    for (let round = 0; round < 60; round += 1) {
      const recorder = createRecorder(contents);
      listTools(recorder);
      const planted = recordPlanted(recorder);
      const entries = [...recorder.entries()];
      const find = (id: string) => recorder.entry(id);
      const shown = JSON.stringify([
        toRecording(recorder.entries(), INFO, 1),
        entries.map((entry) => copyAsCurl(entry, "http://localhost")),
        entries.map((entry) => copyAsTest(entry, { server: { kind: "worker", config: "w" }, path: "/mcp", find })),
        entries.map((entry) => compareEntries([entry], [{ ...entry, messages: [] }])),
      ]);
      expect(findSecrets(shown, contents ? planted.tokens : planted.contents)).toEqual([]);
    }
  }
});
