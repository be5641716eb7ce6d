/** Mistakes in the options and in the configuration of files. */
import { expect, test } from "vitest";
import { startWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { newKeys } from "../harness/workerd.ts";
import { ModernClient } from "../worker/client.ts";

expectLogs(/files\(\): the function bucket returned no R2 bucket/);

test("a bucket that is missing in the configuration is reported", async () => {
  const entry = "test/files/fixtures/worker.ts";
  await using worker = await startWorker({
    entry,
    objects: ["McpObject", "SmallObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
  const response = await new ModernClient(worker.url("/mcp")).call("create_upload");
  expect(response.status).toBe(500);
  expect(await response.text()).toContain("[[r2_buckets]] binding =");
  expect((await new ModernClient(worker.url("/small")).call("create_upload")).status).toBe(200);
});

const MISTAKES = `
import { McpServer } from "./src/core/index.ts";
import { addFiles } from "./src/files/index.ts";
import { files } from "./src/worker/files/index.ts";
import { edge } from "./src/worker/index.ts";
const server = new McpServer({ name: "a", version: "1.0.0" });
const store = addFiles(server);
const tries = {
  store: () => files(server),
  path: () => files(store, { path: "/a*" }),
  slash: () => files(store, { path: "a" }),
  base: () => files(store, { baseUrl: "ftp://a" }),
  quote: () => files(store, { baseUrl: "https://a'b" }),
  unknown: () => files(store, { maxBytes: 1 }),
  number: () => files(store, { ttlMs: 0 }),
  twice: () => { edge(server, { use: [files(store)] }); edge(server, { path: "/b", use: [files(store)] }); },
};
export default { fetch: () => new Response(JSON.stringify(Object.fromEntries(Object.entries(tries).map(([name, attempt]) => {
  try { attempt(); return [name, "nothing"]; } catch (error) { return [name, error.code + " " + error.message]; }
})))) };
`;

test("each mistake in the options of files() is refused, with what to write", async () => {
  await using worker = await startWorker({ entry: { source: MISTAKES } });
  const found = (await (await fetch(worker.origin)).json()) as Record<string, string>;
  expect(found).toEqual({
    store: expect.stringMatching(/^options-invalid files\(\): the first argument is the result of addFiles\(\)/),
    path: expect.stringMatching(/^options-invalid files\(\): path is \/a\*; write a path/),
    slash: expect.stringMatching(/^options-invalid .*begin it with/),
    base: expect.stringMatching(/^options-invalid files\(\): baseUrl is ftp:\/\/a; write a URL/),
    quote: expect.stringMatching(/^options-invalid files\(\): baseUrl is/),
    unknown: expect.stringMatching(/^options-invalid files\(\) has no option "maxBytes"/),
    number: expect.stringMatching(/^options-invalid files\(\): ttlMs is 0; use/),
    twice: expect.stringMatching(/^options-invalid The files of a server have one place/),
  });
});
