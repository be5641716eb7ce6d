/** Calls without their file: the user is asked for it, if the client can show a page, and otherwise the model. */
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FilesLab, put } from "./support.ts";

let lab: FilesLab;
beforeAll(async () => {
  lab = await FilesLab.start();
});
afterAll(() => lab?.stop());

const ME = { name: "asked", version: "1.0.0" };
const CSV = "name,sum\na,1\n";
const URL_MODE = { capabilities: { elicitation: { url: {} } } };

let count = 0;
/** The headers of a user without files. */
function newUser(): Record<string, string> {
  count += 1;
  return { "x-user": `user-${count}` };
}

/** The params of a question that sends the user to a URL. */
interface Asked {
  readonly mode?: string;
  readonly url?: string;
  readonly message?: string;
}
type Answer = (asked: Asked) => Promise<{ action: "accept" | "decline" }>;

interface Host {
  call(name: string, args: Record<string, unknown>): Promise<unknown>;
  close(): Promise<void>;
}

const HOSTS: readonly (readonly [name: string, open: (answer: Answer) => Promise<Host>])[] = [
  ["client 2.4 of 2026-07-28", (answer) => openSecond({ pin: "2026-07-28" }, answer)],
  ["client 2.4 of 2025-11-25", (answer) => openSecond("legacy", answer)],
  [
    "sdk 1.32 of 2025-11-25",
    async (answer) => {
      const client = new Client1(ME, URL_MODE);
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params as Asked));
      const transport = new Http1(new URL(lab.worker.url("/mcp")), { requestInit: { headers: newUser() } });
      await client.connect(transport as never);
      return { call: (name, args) => client.callTool({ name, arguments: args }), close: () => client.close() };
    },
  ],
];

async function openSecond(mode: "legacy" | { pin: "2026-07-28" }, answer: Answer): Promise<Host> {
  const client = new Client2(ME, { ...URL_MODE, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", ({ params }) => answer(params as Asked));
  await client.connect(new Http2(new URL(lab.worker.url("/mcp")), { requestInit: { headers: newUser() } }));
  return { call: (name, args) => client.callTool({ name, arguments: args }), close: () => client.close() };
}

describe.each(HOSTS)("%s", (_, open) => {
  test("shows a page to the user, and the call goes on with the file", async () => {
    const asked: Asked[] = [];
    let uploaded: Promise<Response> | undefined;
    const host = await open(async (question) => {
      asked.push(question);
      // The user agrees first, and chooses the file later.
      uploaded = new Promise((resolve) => setTimeout(resolve, 1_200)).then(() =>
        put(question.url ?? "", "my.csv", CSV),
      );
      return { action: "accept" };
    });
    const result = await host.call("lines", { times: 5 });
    expect((await uploaded)?.status).toBe(201);
    expect(result).toMatchObject({ content: [{ text: `10 lines in my.csv (text/csv, ${CSV.length} bytes)` }] });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ mode: "url", message: "Upload a file: The sales report" });
    await host.close();
  });

  test("refuses a file of another type at once, and takes the right one with the same link", async () => {
    const statuses: number[] = [];
    const host = await open(async ({ url = "" }) => {
      statuses.push((await put(url, "a.png", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]))).status);
      statuses.push((await put(url, "a.csv", `a,b\n${"1,2\n".repeat(400_000)}`)).status);
      statuses.push((await put(url, "a.csv", CSV)).status);
      return { action: "accept" };
    });
    expect(await host.call("lines", {})).toMatchObject({ content: [{ text: expect.stringContaining("2 lines") }] });
    expect(statuses).toEqual([415, 413, 201]);
    await host.close();
  });

  test("ends the call if the user declines", async () => {
    const host = await open(async () => ({ action: "decline" }));
    const content = [{ type: "text", text: 'The user has not provided the file for "report".' }];
    expect(await host.call("lines", {})).toMatchObject({ isError: true, content });
    await host.close();
  });
});

test.each([
  ["client 2.4 of 2026-07-28", { pin: "2026-07-28" }],
  ["client 2.4 of 2025-11-25", "legacy"],
] as const)(
  "a model learns from the error of a call how to upload the file, with a client that shows no pages: %s",
  async (_, mode) => {
    const client = new Client2(ME, { versionNegotiation: { mode } });
    await client.connect(new Http2(new URL(lab.worker.url("/mcp")), { requestInit: { headers: newUser() } }));
    const { tools } = await client.listTools();
    const listed = tools.find(({ name }) => name === "lines");
    expect(listed?.inputSchema).toMatchObject({
      properties: { report: { type: "string" }, times: { type: "number" } },
    });
    expect(listed?.inputSchema.required ?? []).toEqual([]);
    const call = (report?: string) =>
      client.callTool({ name: "lines", arguments: report === undefined ? {} : { report } });
    const refused = (await call()) as { isError: boolean; content: { text: string }[] };
    const text = refused.content[0]?.text ?? "";
    expect(refused.isError).toBe(true);
    const [, url = ""] = /curl -T FILE '(\S+)'/.exec(text) ?? [];
    const [, id = ""] = /pass "(\w\S+)" as the argument/.exec(text) ?? [];
    expect((await put(url, "b.csv", CSV)).status).toBe(201);
    expect(await call(id)).toMatchObject({ content: [{ text: expect.stringContaining("2 lines in b.csv") }] });
    const created = await client.callTool({ name: "create_upload", arguments: {} });
    expect(created.structuredContent).toMatchObject({ file: expect.stringMatching(/^file_/), url: expect.any(String) });
    await client.close();
  },
);
