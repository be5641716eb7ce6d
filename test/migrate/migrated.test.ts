// @module-tag long
/** The recorded results are compiled against the built kit, and asked by a client. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Client, type ClientOptions, connect } from "../../src/client/index.ts";
import { stdio } from "../../src/node/index.ts";
import { NODE } from "../oracle/node.ts";
import { formNames, MIGRATED } from "./forms.ts";

const ROOT = join(import.meta.dirname, "../..");

test("every recorded result compiles", () => {
  const files = formNames()
    .filter((name) => name !== "agent-state")
    .map((name) =>
      join(MIGRATED, name, name.startsWith("agent") ? "index.ts" : name === "next-handler" ? "route.ts" : "server.ts"),
    );
  const compilerOptions = {
    ...{ target: "ES2024", lib: ["ES2024", "DOM"], module: "ESNext", moduleResolution: "Bundler" },
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: ["node", "@cloudflare/workers-types"] },
  };
  const config = join(ROOT, "dist/tsconfig.migrated.json");
  writeFileSync(config, JSON.stringify({ compilerOptions, files }));
  const { stdout } = spawnSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", config, "--pretty", "false"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  rmSync(config);
  expect(stdout).toBe("");
});

describe("a client gets the results of the old server from", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(ROOT, "dist/migrated-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  let client: Client;
  afterEach(() => client.close());

  /** Starts a migrated server over stdio. It is copied, because Node does not strip types in files that tests import. */
  async function start(form: string, options: Partial<ClientOptions> = {}) {
    const path = join(folder, form, "server.ts");
    mkdirSync(dirname(path), { recursive: true });
    copyFileSync(join(MIGRATED, form, "server.ts"), path);
    client = await connect(stdio({ command: NODE, args: [path], stderr: "ignore" }), {
      name: "test",
      version: "1.0.0",
      ...options,
    });
  }

  test("tools with shapes, schemas and errors", async () => {
    await start("v1-tools");
    const call = async (name: string, args: Record<string, unknown>) => client.callTool(name, args);
    expect(await call("tide", { harbour: "Brest" })).toMatchObject({
      structuredContent: { height: 5 },
      content: [{ text: "5 m" }],
    });
    expect(await call("tide", { harbour: "nowhere" })).toMatchObject({
      isError: true,
      content: [{ text: "There is no harbour nowhere" }],
    });
    expect(await call("shape", { harbour: "Brest" })).toMatchObject({ content: [{ text: "Brest" }] });
    expect(await call("now", {})).toMatchObject({ content: [{ text: "now" }] });
    expect(client.server.instructions).toBe("Ask for a harbour first.");
  });

  test("a server that read the roots when its client was initialized", async () => {
    await start("v1-initialized", { roots: [{ uri: "file:///project", name: "project" }] });
    const call = async (name: string, args: Record<string, unknown>) => client.callTool(name, args);
    expect(await call("open", { name: "file:///project" })).toMatchObject({ content: [{ text: "open" }] });
    expect(await call("folders", {})).toMatchObject({ content: [{ text: "file:///project" }] });
  });

  test("a server that asks by returning questions", async () => {
    await start("v2-era", { onElicit: () => ({ action: "accept", content: { size: "M" } }) });
    expect(await client.callTool("order", { what: "tea" })).toMatchObject({ content: [{ text: "tea: accept" }] });
    expect(await client.callTool("count", {})).toMatchObject({ content: [{ text: "1 in the modern era" }] });
  });

  test("a low-level server", async () => {
    await start("v1-low-level");
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    expect(await client.callTool("fail", {})).toMatchObject({ isError: true, content: [{ text: "fail failed" }] });
    expect(await client.readResource("memo://1")).toMatchObject({ contents: [{ text: "One" }] });
    expect(await client.getPrompt("hello", { who: "Ada" })).toMatchObject({
      messages: [{ content: { text: "Hello Ada" } }],
    });
  });
});
