import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findProblem, findProblems, importsOf } from "../../scripts/rooms.ts";

test.each([
  ["core/server.ts", "../worker/edge.ts"],
  ["core/server.ts", "../http/handler.ts"],
  ["core/server.ts", "node:fs"],
  ["core/server.ts", "cloudflare:workers"],
  ["core/server.ts", "zod"],
  ["core/server.ts", "hono"],
  ["core/server.ts", "@cfworker/json-schema"],
  ["core/server.ts", "@modelcontextprotocol/sdk/types.js"],
  ["core/server.ts", "../schema/index.ts"],
  ["core/server.ts", "../node/index.ts"],
  ["core/server.ts", "../client/client.ts"],
  ["core/server.ts", "../testing/index.ts"],
  ["core/server.ts", "../reference/server.ts"],
  ["core/server.ts", "../../scripts/tools.ts"],
  ["core/deep/er/file.ts", "../../../worker/edge.ts"],
  ["schema/index.ts", "../http/handler.ts"],
  ["schema/index.ts", "@cfworker/json-schema/other"],
  ["schema/index.ts", "node:fs"],
  ["http/handler.ts", "node:http"],
  ["http/handler.ts", "cloudflare:workers"],
  ["http/handler.ts", "../node/index.ts"],
  ["http/handler.ts", "../schema/index.ts"],
  ["worker/edge.ts", "../schema/index.ts"],
  ["worker/edge.ts", "../client/client.ts"],
  ["worker/edge.ts", "honoraria"],
  ["node/index.ts", "hono"],
  ["node/index.ts", "../schema/index.ts"],
  ["testing/index.ts", "../schema/index.ts"],
  ["reference/server.ts", "../http/handler.ts"],
  ["reference/server.ts", "zod"],
  ["http/handler.ts", "../worker/edge.ts"],
  ["http/handler.ts", "hono"],
  ["worker/edge.ts", "../node/index.ts"],
  ["worker/edge.ts", "node:fs"],
  ["node/index.ts", "../http/handler.ts"],
  ["node/index.ts", "../worker/edge.ts"],
  ["client/client.ts", "../http/handler.ts"],
  ["client/client.ts", "node:net"],
  ["nowhere/file.ts", "../core/index.ts"],
])("%s may not import %s", (file, specifier) => {
  expect(findProblem(file, specifier)).toContain(file);
});

test.each([
  ["core/server.ts", "./errors.ts"],
  ["core/deep/er/file.ts", "../../errors.ts"],
  ["schema/index.ts", "../core/errors.ts"],
  ["schema/index.ts", "@cfworker/json-schema"],
  ["http/handler.ts", "../core/server.ts"],
  ["worker/edge.ts", "../http/handler.ts"],
  ["worker/sessions/gate.ts", "../../core/server.ts"],
  ["worker/sessions/gate.ts", "cloudflare:workers"],
  ["worker/edge.ts", "hono/tiny"],
  ["worker/edge.ts", "hono"],
  ["node/index.ts", "node:stream"],
  ["node/index.ts", "../core/server.ts"],
  ["testing/index.ts", "../worker/edge.ts"],
  ["reference/server.ts", "../schema/index.ts"],
  ["client/client.ts", "../core/server.ts"],
])("%s may import %s", (file, specifier) => {
  expect(findProblem(file, specifier)).toBeUndefined();
});

test("every form of import is seen", () => {
  const source = `import a from "./a.ts";\nimport type { B } from './b.ts';\nimport "./c.ts";\nexport {\n  d,\n} from "./d.ts";\nconst e = await import("./e.ts");\n`;
  expect(importsOf(source).toSorted()).toEqual(["./a.ts", "./b.ts", "./c.ts", "./d.ts", "./e.ts"]);
});

test("what only looks like an import is not taken for one", () => {
  const source = `// import a from "./a.ts";\nconst b = 'import c from';\n/** import("x") is explained */\nexport const d = 1;\n`;
  expect(importsOf(source).filter((name) => name !== "x")).toEqual([]);
});

test("types, wildcards, attributes and imports over several lines are seen", () => {
  const source = `import type {\n  A,\n  B,\n} from "./a.ts";\nexport * from "./b.ts";\nexport * as c from "./c.ts";\nexport type { D } from "./d.ts";\nimport e from "./e.json" with { type: "json" };\ntype F = import("./f.ts").F;\nimport g, { h } from "node:g";\n`;
  const found = ["./a.ts", "./b.ts", "./c.ts", "./d.ts", "./e.json", "./f.ts", "node:g"];
  expect(importsOf(source).toSorted()).toEqual(found);
});

describe("findProblems", () => {
  const src = mkdtempSync(join(tmpdir(), "mcp-edge-rooms-"));
  afterAll(() => rmSync(src, { recursive: true }));

  test("reads every file below the rooms and names each that has a forbidden import", () => {
    const write = (file: string, text: string) => {
      mkdirSync(dirname(join(src, file)), { recursive: true });
      writeFileSync(join(src, file), text);
    };
    write("core/good.ts", 'import { a } from "./other.ts";\n');
    write("core/deep/bad.ts", 'import type { Edge } from "../../worker/edge.ts";\n');
    write("http/bad.ts", 'import { Hono } from "hono";\nimport "node:fs";\n');
    write("http/notes.md", 'import { Hono } from "hono";\n');
    write("attic/old.ts", 'import "../core/good.ts";\n');
    const problems = findProblems(src).toSorted();
    expect(problems.map((problem) => problem.split(":")[0])).toEqual([
      "attic/old.ts",
      "core/deep/bad.ts",
      "http/bad.ts",
      "http/bad.ts",
    ]);
  });
});

test("src has no arrow that the design does not allow", () => {
  expect(findProblems(join(import.meta.dirname, "../../src"))).toEqual([]);
});
