import { join } from "node:path";
import { expect, test } from "vitest";
import { findProblem, findProblems, importsOf } from "../../scripts/rooms.ts";

test.each([
  ["core/server.ts", "../worker/edge.ts"],
  ["core/server.ts", "../http/handler.ts"],
  ["core/server.ts", "node:fs"],
  ["core/server.ts", "cloudflare:workers"],
  ["core/server.ts", "zod"],
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
  ["http/handler.ts", "../core/server.ts"],
  ["worker/edge.ts", "../http/handler.ts"],
  ["worker/sessions/gate.ts", "../../core/server.ts"],
  ["worker/sessions/gate.ts", "cloudflare:workers"],
  ["worker/edge.ts", "hono/tiny"],
  ["node/index.ts", "node:stream"],
  ["client/client.ts", "../core/server.ts"],
])("%s may import %s", (file, specifier) => {
  expect(findProblem(file, specifier)).toBeUndefined();
});

test("every form of import is seen", () => {
  const source = `import a from "./a.ts";\nimport type { B } from './b.ts';\nimport "./c.ts";\nexport {\n  d,\n} from "./d.ts";\nconst e = await import("./e.ts");\n`;
  expect(importsOf(source).toSorted()).toEqual(["./a.ts", "./b.ts", "./c.ts", "./d.ts", "./e.ts"]);
});

test("src has no arrow that the design does not allow", () => {
  expect(findProblems(join(import.meta.dirname, "../../src"))).toEqual([]);
});
