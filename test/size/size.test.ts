// @module-tag long
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { DEPLOYED, deployedKib } from "../../scripts/deployed-size.ts";
import { pageAppKib } from "../../scripts/page-app.ts";
import { PROGRAMS, sizeOf } from "../../scripts/size-of.ts";

/**
 * The current size of each program in KiB, minified and gzipped, to within half a KiB (compressors differ by a few
 * bytes). A change that makes one larger changes this number on purpose; the budget is in scripts/size-of.ts.
 */
const NOW: Readonly<Record<string, number>> = {
  "test/size/stateless.ts": 34.5,
  "test/size/auth.ts": 42.6,
  "test/size/sessions.ts": 61.1,
  "test/size/durable.ts": 80.6,
  "test/size/page.ts": 40.8,
  "test/size/authorization-server.ts": 87.0,
  "test/size/files.ts": 58.4,
  "test/size/client.ts": 16.3,
  "test/size/client-validation.ts": 24.7,
  "test/size/client-oauth.ts": 29.4,
};

test.each(PROGRAMS)("$name is within its budget and has the recorded size", async ({ entry, gzipKibMax }) => {
  const { gzip } = await sizeOf(entry);
  expect(gzip / 1024).toBeLessThanOrEqual(gzipKibMax);
  expect(Math.abs(gzip / 1024 - (NOW[entry] ?? 0))).toBeLessThan(0.5);
});

test("a program that does not import sessions bundles none of their code", async () => {
  const { modules } = await sizeOf("test/size/stateless.ts");
  expect(modules.filter((path) => path.startsWith("src/worker/sessions/"))).toEqual([]);
  expect(modules).toContain("src/worker/edge.ts");
});

test("no program bundles code for Node, or a JSON Schema validator that it does not import", async () => {
  const { modules } = await sizeOf("test/size/sessions.ts");
  expect(modules.filter((path) => path.startsWith("src/node/") || path.startsWith("src/schema/"))).toEqual([]);
  expect(modules).toContain("src/worker/sessions/session-object.ts");
});

/** The current KiB of each program as deployed, with `keep_names = false`, to within half a KiB. */
const DEPLOYED_NOW: Readonly<Record<string, number>> = {
  "stateless.ts": 60.0,
  "sessions.ts": 86.5,
  "named-stateless.ts": 125.7,
};

/** The same with the default of wrangler, which keeps the names of functions. */
const WITH_NAMES_NOW: Readonly<Record<string, number>> = { "stateless.ts": 65.6, "sessions.ts": 94.1 };

test.each(DEPLOYED)(
  "$name is within its budget and has the recorded size",
  async ({ entry, keepNames, gzipKibMax }) => {
    const kib = await deployedKib({ entry, keepNames });
    expect(kib).toBeLessThanOrEqual(gzipKibMax ?? Number.POSITIVE_INFINITY);
    expect(Math.abs(kib - ((keepNames ? WITH_NAMES_NOW : DEPLOYED_NOW)[entry] ?? 0))).toBeLessThan(0.5);
  },
);

test("the programs that compare the two imports of zod differ only in the import", () => {
  const tools = (name: string) => {
    const text = readFileSync(join(import.meta.dirname, "deployed", name), "utf8");
    return text.split("\n").filter((line) => !/^\/\*\*|from "zod"/.test(line));
  };
  expect(tools("named-tools.ts")).toEqual(tools("tools.ts"));
});

test("the README has the sizes as deployed, and what the other import of zod costs", () => {
  const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
  const { "stateless.ts": stateless = 0, "sessions.ts": sessions = 0, "named-stateless.ts": named = 0 } = DEPLOYED_NOW;
  expect(readme).toContain(`${stateless} KiB without sessions and ${sessions} KiB with sessions, hub and keys`);
  const { "stateless.ts": small, "sessions.ts": large } = WITH_NAMES_NOW;
  expect(readme).toContain(`without \`keep_names = false\`: ${small} and ${large} KiB`);
  expect(readme).toContain(`\`import { z }\` bundles ${Math.round(named - stateless)} KiB more`);
});

test("the facts have the sizes of the programs", () => {
  const facts = readFileSync(join(import.meta.dirname, "../../docs/facts.md"), "utf8");
  const [stateless, sessions, durable] = ["stateless", "sessions", "durable"].map(
    (name) => NOW[`test/size/${name}.ts`],
  );
  const expected = `${stateless} KiB without sessions, ${sessions} KiB with sessions, ${durable} KiB with all of`;
  expect(facts).toContain(expected);
});

test("dpop(), rates() and audit() are bundled only in programs that import them", async () => {
  for (const program of ["stateless", "sessions", "durable", "auth"]) {
    const { modules } = await sizeOf(`test/size/${program}.ts`);
    expect(modules.filter((path) => /^src\/worker\/access\/(dpop|rates|audit)\//.test(path))).toEqual([]);
    expect(modules.includes("src/worker/access/auth/bearer.ts")).toBe(program === "auth");
  }
});

test("telemetry(), debug() and health() are bundled only in programs that import them", async () => {
  for (const program of ["stateless", "durable", "auth", "client"]) {
    const { modules } = await sizeOf(`test/size/${program}.ts`);
    expect(modules.filter((path) => /^src\/(telemetry|worker\/(debug|health))\/|message-log/.test(path))).toEqual([]);
  }
});

test("files() and its schemas are bundled only in programs that import them", async () => {
  for (const program of ["stateless", "sessions", "durable", "auth", "page", "client"]) {
    const { modules } = await sizeOf(`test/size/${program}.ts`);
    expect(modules.filter((path) => /^src\/(files|worker\/files)\//.test(path))).toEqual([]);
  }
});

test("an authorization server bundles only the identity providers that it imports, and none for development", async () => {
  const { modules } = await sizeOf("test/size/authorization-server.ts");
  expect(
    modules.filter((path) => /authorization-server\/(dev|enterprise)|identity\/(github|own-login)/.test(path)),
  ).toEqual([]);
  expect(modules).toContain("src/authorization-server/identity/oidc.ts");
});

test("bearer() adds at most 8.3 KiB, and only to a program that imports it", async () => {
  const [without, durable, withIt] = await Promise.all(
    ["stateless", "durable", "auth"].map((name) => sizeOf(`test/size/${name}.ts`)),
  );
  const modulesOf = (size = without) => size?.modules.filter((path) => path.startsWith("src/worker/access/auth/"));
  expect((withIt?.gzip ?? 0) - (without?.gzip ?? 0)).toBeLessThanOrEqual(8.3 * 1024);
  expect([modulesOf(without), modulesOf(durable)]).toEqual([[], []]);
  expect(modulesOf(withIt)).toContain("src/worker/access/auth/jwt.ts");
});

test("page() is bundled only where it is imported, and so is the look of pages", async () => {
  for (const program of ["stateless", "sessions", "durable", "auth"]) {
    const { modules } = await sizeOf(`test/size/${program}.ts`);
    expect(modules.filter((path) => /^src\/(look|http\/page|worker\/page)\b/.test(path))).toEqual([]);
  }
});

test("the page of mcp-edge dev has at most 59.4 KiB with everything, as it is compressed", async () => {
  expect(await pageAppKib()).toBeLessThanOrEqual(59.4);
});

test("a client in a browser loads rarely used code on demand", async () => {
  const { modules } = await sizeOf("test/size/client.ts");
  expect(modules).toContain("src/client/transports/http-link.ts");
  expect(modules.filter((path) => /http-sse|transport-link/.test(path))).toEqual([]);
});

test.each([["browser"], ["workerd"]])("the client bundles under the condition %s alone", async (condition) => {
  const { outputFiles } = await build({
    entryPoints: ["test/size/client.ts"],
    bundle: true,
    write: false,
    format: "esm",
    conditions: [condition],
  });
  expect(outputFiles[0]?.text).not.toMatch(/from ?"node:|require\(/);
});

test("a program that does not import mcp-edge/safe bundles none of it, and a program with one helper bundles only what the helper uses", async () => {
  const modulesOf = async (entry: string) =>
    (await sizeOf(entry)).modules.filter((path) => path.startsWith("src/safe/"));
  for (const program of ["stateless", "auth", "durable", "client"]) {
    expect(await modulesOf(`test/size/${program}.ts`)).toEqual([]);
  }
  expect(await modulesOf("test/size/safe.ts")).toEqual(["src/safe/clean-text.ts"]);
});
