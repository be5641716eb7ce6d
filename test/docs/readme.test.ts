import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runToolQuietly } from "../harness/tools.ts";
import { Workerd } from "../harness/workerd.ts";
import { startHttpTap } from "../oracle/http-tap.ts";

const ROOT = join(import.meta.dirname, "../..");
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

/** The code blocks of a language, in order. */
function blocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map((match) => match[1] ?? "");
}

const source = blocks("ts")[0] ?? "";
let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: { source },
    objects: ["McpObject"],
  });
});
afterAll(() => worker.stop());

test("the README's server answers a call on workerd", async () => {
  const tap = await startHttpTap(`${worker.origin}/mcp`);
  const headers = { "Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25" };
  const send = (message: object, more: Record<string, string> = {}) =>
    fetch(tap.url, {
      method: "POST",
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
    });
  const clientInfo = { name: "readme", version: "1.0.0" };
  const opened = await send({
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
  });
  const called = await send(
    { method: "tools/call", params: { name: "roll", arguments: { count: 3 } } },
    { "Mcp-Session-Id": opened.headers.get("Mcp-Session-Id") ?? "" },
  );
  const { result } = (await called.json()) as { result: { structuredContent: { rolls: number[] } } };
  expect(result.structuredContent.rolls).toHaveLength(3);
  await tap.close();
  tap.oracle.expectClean();
});

test("the README's server type-checks against the built package, and wrangler would deploy it with the configuration there", () => {
  const folder = mkdtempSync(join(ROOT, "dist/readme-"));
  try {
    writeFileSync(join(folder, "index.ts"), source);
    writeFileSync(join(folder, "wrangler.toml"), (blocks("toml")[0] ?? "").replace("src/index.ts", "index.ts"));
    const config = { extends: join(ROOT, "tsconfig.json"), include: ["index.ts"], exclude: [] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    expect(runToolQuietly("tsc", ["-p", folder, "--noEmit"])).toEqual({ status: 0, output: "" });
    const deploy = runToolQuietly("wrangler", ["deploy", "--dry-run", "--outdir", join(folder, "out")], folder);
    expect(deploy.status).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the README's test type-checks against the built package, and passes with the README's server", () => {
  const example = blocks("ts").find((block) => block.includes("mcp-edge/testing")) ?? "";
  const folder = mkdtempSync(join(ROOT, "dist/readme-"));
  try {
    writeFileSync(join(folder, "index.ts"), source);
    writeFileSync(join(folder, "server.test.ts"), example);
    writeFileSync(join(folder, "wrangler.toml"), (blocks("toml")[0] ?? "").replace("src/index.ts", "index.ts"));
    const config = { extends: join(ROOT, "tsconfig.json"), include: ["server.test.ts"], exclude: [] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    expect(runToolQuietly("tsc", ["-p", folder, "--noEmit"])).toEqual({ status: 0, output: "" });
    // Without its own configuration the project's would be used. The timeout is that of the project.
    writeFileSync(join(folder, "vitest.config.mjs"), "export default { test: { testTimeout: 30_000 } };");
    const run = runToolQuietly("vitest", ["run", "--reporter", "verbose"], folder);
    expect(run.output).toContain("a session survives a crash of the server");
    expect(run.status, run.output).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("every file and folder that the README links to exists", () => {
  const links = [...readme.matchAll(/\]\(((?!https?:)[^)]+)\)/g)].map((match) => match[1] ?? "");
  expect(links.length).toBeGreaterThan(0);
  for (const link of links) expect(() => readFileSync(join(ROOT, link)), link).not.toThrow(/ENOENT/);
});

test("the README's commands are scripts of the package", () => {
  const { scripts, bin } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const named = [...readme.matchAll(/npm run (\w+)/g)].map((match) => match[1] ?? "");
  for (const name of [...named, "start", "test"]) expect(Object.keys(scripts)).toContain(name);
  expect(Object.keys(bin)).toContain("mcp-edge");
});
