import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { CLIENT_ORDER, CORE_ORDER, findProblem, findProblems, importsOf } from "../../scripts/rooms.ts";

test.each([
  ["core/define/server.ts", "../../worker/edge.ts"],
  ["core/define/server.ts", "../../http/handler.ts"],
  ["core/define/server.ts", "node:fs"],
  ["core/define/server.ts", "cloudflare:workers"],
  ["core/define/server.ts", "zod"],
  ["core/define/server.ts", "hono"],
  ["core/define/server.ts", "@cfworker/json-schema"],
  ["core/define/server.ts", "@modelcontextprotocol/sdk/types.js"],
  ["core/define/server.ts", "../../schema/index.ts"],
  ["core/define/server.ts", "../../node/index.ts"],
  ["core/define/server.ts", "../../client/index.ts"],
  ["core/define/server.ts", "../../testing/index.ts"],
  ["core/define/server.ts", "../../reference/server.ts"],
  ["core/define/server.ts", "../../../scripts/tools.ts"],
  ["core/tasks/legacy/file.ts", "../../../worker/edge.ts"],
  ["schema/index.ts", "../http/handler.ts"],
  ["schema/index.ts", "@cfworker/json-schema/other"],
  ["schema/index.ts", "node:fs"],
  ["http/handler.ts", "node:http"],
  ["http/handler.ts", "cloudflare:workers"],
  ["http/handler.ts", "../node/index.ts"],
  ["http/handler.ts", "../schema/index.ts"],
  ["worker/edge.ts", "../schema/index.ts"],
  ["worker/edge.ts", "../client/index.ts"],
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
  ["client/api/client.ts", "../../http/handler.ts"],
  ["client/api/client.ts", "node:net"],
  ["safe/fetch.ts", "node:dns"],
  ["safe/fetch.ts", "cloudflare:workers"],
  ["safe/fetch.ts", "../http/origin.ts"],
  ["worker/edge.ts", "../safe/fetch.ts"],
  ["client/api/client.ts", "../../safe/fetch.ts"],
  ["worker/edge.ts", "../authorization-server/index.ts"],
  ["worker/edge.ts", "../authorization-server/dev/index.ts"],
  ["worker/edge.ts", "oauth4webapi"],
  ["authorization-server/index.ts", "./dev/index.ts"],
  ["authorization-server/index.ts", "../node/index.ts"],
  ["authorization-server/dev/index.ts", "oauth4webapi"],
  ["nowhere/file.ts", "../core/index.ts"],
])("%s may not import %s", (file, specifier) => {
  expect(findProblem(file, specifier)).toContain(file);
});

test.each([
  ["core/define/server.ts", "../protocol/errors.ts"],
  ["core/tasks/legacy/file.ts", "../../protocol/errors.ts"],
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
  ["client/api/client.ts", "../../core/server.ts"],
  ["safe/fetch.ts", "../core/server.ts"],
  ["node/index.ts", "../safe/fetch.ts"],
  ["authorization-server/index.ts", "../worker/edge.ts"],
  ["authorization-server/identity/oidc.ts", "oauth4webapi"],
  ["authorization-server/identity/oidc.ts", "../../client/oauth/guard.ts"],
  ["authorization-server/pages/page.ts", "../../safe/clean-text.ts"],
  ["authorization-server/dev/index.ts", "../identity/provider.ts"],
])("%s may import %s", (file, specifier) => {
  expect(findProblem(file, specifier)).toBeUndefined();
});

describe.each([
  ["core", CORE_ORDER],
  ["client", CLIENT_ORDER],
] as const)("the rooms of src/%s", (room, order) => {
  const folders = order.flat();
  const pairs = folders.flatMap((from) => folders.map((to) => [from, to] as const)).filter(([from, to]) => from !== to);
  const isBelow = (low: string, high: string) => {
    const [a, b] = [low, high].map((folder) => order.findIndex((line) => line.includes(folder)));
    return a !== undefined && b !== undefined && a < b;
  };

  test.each(pairs)("%s may import %s only if the order of the rooms allows it", (from, to) => {
    const problem = findProblem(`${room}/${from}/file.ts`, `../${to}/other.ts`);
    if (isBelow(to, from)) expect(problem).toBeUndefined();
    else expect(problem).toContain(`${room}/${from} -> ${room}/${to}`);
  });

  test("the entry may import every room, and no room may import the entry", () => {
    for (const folder of folders) {
      expect(findProblem(`${room}/index.ts`, `./${folder}/file.ts`)).toBeUndefined();
      expect(findProblem(`${room}/${folder}/file.ts`, "../index.ts")).toContain(
        `${room}/${folder} -> ${room}/index.ts`,
      );
    }
  });

  test("a folder that is not in the order of the rooms is refused", () => {
    expect(findProblem(`${room}/attic/file.ts`, `../${folders[0]}/errors.ts`)).toContain("is not a known room");
    expect(findProblem(`${room}/${folders[1]}/file.ts`, "../attic/file.ts")).toContain("is not an allowed import");
  });
});

test.each([
  ["core/protocol", "core/seal"],
  ["core/seal", "core/run"],
  ["core/define", "core/run"],
  ["core/ask", "core/run"],
  ["core/run", "core/serve"],
  ["core/serve", "core/tasks"],
  ["core/serve", "core/connection"],
  ["client/basics", "client/transports"],
  ["client/transports", "client/api"],
  ["client/api", "client/questions"],
  ["client/questions", "client/connection"],
  ["client/connection", "client/tasks"],
])("%s comes before %s in the order of the rooms", (low, high) => {
  expect(findProblem(`${low}/file.ts`, `../../${high}/other.ts`)).toContain("is not an allowed import");
  expect(findProblem(`${high}/file.ts`, `../../${low}/other.ts`)).toBeUndefined();
});

test("type imports count like value imports", () => {
  const [specifier = ""] = importsOf('import type { Call } from "../run/request-context.ts";\n');
  expect(findProblem("core/define/tool.ts", specifier)).toContain("core/define -> core/run");
});

test("every form of import is found", () => {
  const source = `import a from "./a.ts";\nimport type { B } from './b.ts';\nimport "./c.ts";\nexport {\n  d,\n} from "./d.ts";\nconst e = await import("./e.ts");\n`;
  expect(importsOf(source).toSorted()).toEqual(["./a.ts", "./b.ts", "./c.ts", "./d.ts", "./e.ts"]);
});

test("text that only looks like an import is ignored", () => {
  const source = `// import a from "./a.ts";\nconst b = 'import c from';\n/** import("x") is explained */\nexport const d = 1;\n`;
  expect(importsOf(source).filter((name) => name !== "x")).toEqual([]);
});

test("types, wildcards, attributes and multi-line imports are found", () => {
  const source = `import type {\n  A,\n  B,\n} from "./a.ts";\nexport * from "./b.ts";\nexport * as c from "./c.ts";\nexport type { D } from "./d.ts";\nimport e from "./e.json" with { type: "json" };\ntype F = import("./f.ts").F;\nimport g, { h } from "node:g";\n`;
  const found = ["./a.ts", "./b.ts", "./c.ts", "./d.ts", "./e.json", "./f.ts", "node:g"];
  expect(importsOf(source).toSorted()).toEqual(found);
});

describe("findProblems", () => {
  const src = mkdtempSync(join(tmpdir(), "mcp-edge-rooms-"));
  afterAll(() => rmSync(src, { recursive: true }));

  test("reads every file in the rooms and reports each forbidden import", () => {
    const write = (file: string, text: string) => {
      mkdirSync(dirname(join(src, file)), { recursive: true });
      writeFileSync(join(src, file), text);
    };
    write("core/run/good.ts", 'import { a } from "./other.ts";\n');
    write("core/run/bad.ts", 'import type { Edge } from "../../worker/edge.ts";\n');
    write("core/seal/bad.ts", 'import type { Call } from "../run/good.ts";\n');
    write("http/bad.ts", 'import { Hono } from "hono";\nimport "node:fs";\n');
    write("http/notes.md", 'import { Hono } from "hono";\n');
    write("attic/old.ts", 'import "../core/run/good.ts";\n');
    const problems = findProblems(src).toSorted();
    expect(problems.map((problem) => problem.split(":")[0])).toEqual([
      "attic/old.ts",
      "core/run/bad.ts",
      "core/seal/bad.ts",
      "http/bad.ts",
      "http/bad.ts",
    ]);
  });
});

test("import cycles, crowded folders and long files are reported, and imports on demand close no cycle", () => {
  const src = mkdtempSync(join(tmpdir(), "mcp-edge-rooms-"));
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(src, file)), { recursive: true });
    writeFileSync(join(src, file), text);
  };
  write("http/a.ts", 'import type { B } from "./b.ts";\n');
  write("http/b.ts", 'import { c } from "./c.ts";\n');
  write("http/c.ts", 'import type { A } from "./a.ts";\n');
  write("http/lazy.ts", 'const load = () => import("./loaded.ts");\n');
  write("http/loaded.ts", 'import { lazy } from "./lazy.ts";\n');
  write("core/run/long.ts", "// A line.\n".repeat(401));
  for (let at = 0; at < 26; at += 1) write(`core/seal/file-${at}.ts`, "");
  expect(findProblems(src)).toEqual([
    expect.stringMatching(/^http\/(a|b|c)\.ts -> .*: a circle of imports$/),
    "core/seal: has 26 files, of at most 25",
    "core/run/long.ts: has 401 lines, of at most 400",
  ]);
  rmSync(src, { recursive: true });
});

test("src/client/on-demand.ts may import every room, and every room may load it, but only with import()", () => {
  const src = mkdtempSync(join(tmpdir(), "mcp-edge-rooms-"));
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(src, file)), { recursive: true });
    writeFileSync(join(src, file), text);
  };
  write("client/on-demand.ts", 'export { b } from "./connection/b.ts";\n');
  write("client/basics/a.ts", 'const load = () => import("../on-demand.ts");\n');
  write("client/connection/b.ts", 'import { a } from "../basics/a.ts";\n');
  write("client/host/c.ts", 'import { b } from "../on-demand.ts";\n');
  expect(findProblems(src)).toEqual(['client/host/c.ts: load "../on-demand.ts" with import()']);
  rmSync(src, { recursive: true });
});

test("src has no forbidden import, no import cycle, no crowded folder and no long file", () => {
  expect(findProblems(join(import.meta.dirname, "../../src"))).toEqual([]);
});
