/** Links of files behind a proxy, after a rotation of the keys, and in the place of other sealed values. */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeText } from "../../src/core/basics/bytes.ts";
import { KeyRing } from "../../src/core/seal/key-ring.ts";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { findSealed } from "../../src/worker/files/links.ts";
import { newKeys } from "../harness/workerd.ts";
import { ModernClient, readAnswer } from "../worker/client.ts";
import { put } from "./support.ts";

const [OLD, NEW] = [newKeys(), newKeys()];

/** A Worker whose links begin with a URL. */
const source = (baseUrl: string) => `
import * as z from "zod";
import { McpServer } from "./src/core/index.ts";
import { addFiles, file, withFiles } from "./src/files/index.ts";
import { durable } from "./src/worker/durable/index.ts";
import { files } from "./src/worker/files/index.ts";
import { edge } from "./src/worker/index.ts";
const server = new McpServer({ name: "proxied", version: "1.0.0" });
const store = addFiles(server);
const input = withFiles(z.object({}), { any: file() });
server.tool("read", { input }, async ({ any }, ctx) => (await store.open(any, ctx)).text());
server.tool("make", {}, (_, ctx) => store.create({ name: "a.txt", type: "text/plain", body: "made" }, ctx));
const app = edge(server, { use: [durable(), files(store, { baseUrl: ${JSON.stringify(baseUrl)} })] });
export default app;
export class McpObject extends app.McpObject {}
`;

interface Called {
  readonly content: readonly { readonly text?: string; readonly uri: string }[];
  readonly structuredContent: { readonly file: string; readonly url: string };
}

async function call(worker: TestWorker, name: string, args = {}): Promise<Called> {
  const { messages } = await readAnswer(new ModernClient(worker.url("/mcp")).call(name, args));
  return messages.at(-1)?.result as unknown as Called;
}

describe("behind a proxy that removes a prefix of the path", () => {
  let worker: TestWorker;
  const proxy = createServer((given, response) => {
    const path = given.url?.replace(/^\/api\/v1\//, "/");
    const options = { port: new URL(worker.origin).port, path, method: given.method, headers: given.headers };
    const passed = request(options, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    given.pipe(passed);
  });
  let base = "";
  beforeAll(async () => {
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/api/v1`;
    const entry = { source: source(`${base}/`) };
    worker = await startWorker({ entry, objects: ["McpObject"], bindings: { MCP_KEYS: NEW } });
  });
  afterAll(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await worker?.stop();
  });

  test("links work with the option baseUrl, and are recognised as arguments", async () => {
    const { url } = (await call(worker, "create_upload")).structuredContent;
    expect(url.startsWith(`${base}/files/`)).toBe(true);
    expect((await put(url, "a.txt", "abc")).status).toBe(201);
    expect((await call(worker, "read", { any: url })).content[0]?.text).toBe("abc");
    const [made] = (await call(worker, "make")).content;
    expect(made?.uri.startsWith(`${base}/files/`)).toBe(true);
    expect(await (await fetch(made?.uri ?? "")).text()).toBe("made");
  });

  test("the page sends the file to its own URL, and knows no path of the Worker", async () => {
    const { url } = (await call(worker, "create_upload")).structuredContent;
    const html = await (await fetch(url)).text();
    const [, sealed = ""] = /data-sealed="([\w-]+)"/.exec(html) ?? [];
    expect(url).toBe(`${base}/files/${sealed}/`);
    expect(html).not.toContain("/files/");
  });
});

describe("when the keys change", () => {
  let [before, during, after]: TestWorker[] = [];
  beforeAll(async () => {
    const start = (keys: string) => {
      const entry = { source: source("https://a.example") };
      return startWorker({ entry, objects: ["McpObject"], bindings: { MCP_KEYS: keys } });
    };
    [before, during, after] = [await start(OLD), await start(`${NEW},${OLD}`), await start(NEW)];
  });
  afterAll(async () => {
    for (const worker of [before, during, after]) await worker?.stop();
  });

  test("links for uploads and downloads work until the old key is removed", async () => {
    if (!before || !during || !after) throw new Error("The Workers have not started.");
    const at = (url: string, { origin }: TestWorker) => url.replace("https://a.example", origin);
    const { file, url } = (await call(before, "create_upload")).structuredContent;
    expect((await put(at(url, after), "a.txt", "abc")).status).toBe(404);
    expect((await put(at(url, during), "a.txt", "abc")).status).toBe(201);
    for (const any of [file, url]) expect((await call(during, "read", { any })).content[0]?.text).toBe("abc");
    const [made] = (await call(before, "make")).content;
    expect((await fetch(at(made?.uri ?? "", before))).status).toBe(200);
    // The other Workers have no such file, but the second one knows the link.
    expect((await fetch(at(made?.uri ?? "", during))).status).toBe(410);
    expect((await fetch(at(made?.uri ?? "", after))).status).toBe(404);
    const [created] = (await call(during, "make")).content;
    expect((await fetch(at(created?.uri ?? "", during))).status).toBe(200);
    expect((await fetch(at(created?.uri ?? "", before))).status).toBe(404);
  });

  test("no other sealed value is a link, and a link is no other sealed value", async () => {
    if (!after) throw new Error("The Worker has not started.");
    const { url } = (await call(after, "create_upload")).structuredContent;
    const { sealed } = findSealed(url, "/files");
    const content = await (await KeyRing.parse(NEW, "file link")).open(sealed, "McpObject");
    if (!content) throw new Error("The link cannot be opened.");
    const status = async (text: string) => (await fetch(after?.url(`/files/${text}/`) ?? "")).status;
    expect(await status(await (await KeyRing.parse(NEW, "file link")).seal(content, "McpObject"))).toBe(200);
    for (const [purpose, bound] of [
      ["request state", "McpObject"],
      ["session id", "McpObject"],
      ["OAuth successor", "McpObject"],
      ["file link", "AdminObject"],
      ["file link", ""],
    ] as const)
      expect(await status(await (await KeyRing.parse(NEW, purpose)).seal(content, bound))).toBe(404);
    // The first byte is the kind of the link. There is no third kind, and no link has less than its fixed part.
    for (const bytes of [Uint8Array.of(2, ...content.subarray(1)), content.subarray(0, 20), encodeText("a".repeat(90))])
      expect(await status(await (await KeyRing.parse(NEW, "file link")).seal(new Uint8Array(bytes), "McpObject"))).toBe(
        404,
      );
    const { raw } = await readAnswer(
      new ModernClient(after.url("/mcp")).request("tools/call", {
        name: "make",
        arguments: {},
        requestState: sealed,
        inputResponses: {},
      }),
    );
    expect(raw).toMatch(/"error"/);
  });
});
