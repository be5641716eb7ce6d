/**
 * The data that hooks get beside the request, without a platform: the bindings, and `waitUntil` to continue after the response.
 */
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { type ErrorPlace, McpServer, type RequestEnd } from "../../src/core/index.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { serveStdio } from "../../src/node/index.ts";
import { connectInMemory } from "../../src/testing/index.ts";
import { CONTENT, requestOf, standardHeaders } from "../http/messages.ts";

interface Bindings {
  readonly NAME: string;
}

const ENV: Bindings = { NAME: "the binding" };

/** A server whose hooks run until they are released. */
function watching() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const notes: string[] = [];
  const reports: string[] = [];
  const work = async (what: string) => {
    notes.push("begun");
    await released;
    notes.push(what);
  };
  const server = new McpServer<Bindings>({
    name: "work",
    version: "1.0.0",
    around: [
      async ({ env, method, tool, waitUntil }, next) => {
        if (tool === "watched") waitUntil(work(`around ${env.NAME}`));
        if (tool === "failing") waitUntil(Promise.reject(new Error(`the work of ${method}`)));
        return next();
      },
    ],
    onRequestEnd: ({ env, tool, waitUntil }: RequestEnd<Bindings>) => {
      if (tool === "watched") waitUntil(work(`end ${env.NAME}`));
    },
    onError: (error, { method }: ErrorPlace) => void reports.push(`${method} ${error}`),
  });
  for (const name of ["watched", "failing"]) server.tool(name, {}, () => name);
  return { server, notes, reports, release };
}

const DONE = ["begun", "begun", "around the binding", "end the binding"];

describe.each(["2025-11-25", "2026-07-28"])("hooks of a connection (%s)", (version) => {
  test("get the given env, and their work is awaited when the connection becomes idle", async () => {
    const { server, notes, release } = watching();
    await using client = await connectInMemory(server, { version, env: ENV });
    await client.request("tools/call", { name: "watched" });
    let isIdle = false;
    const idle = client.connection.idle().then(() => {
      isIdle = true;
    });
    await new Promise(setImmediate);
    expect([isIdle, notes]).toEqual([false, ["begun", "begun"]]);
    release();
    await idle;
    expect(notes).toEqual(DONE);
  });

  test("may start work that fails: it is reported to onError and the client is not affected", async () => {
    const { server, reports } = watching();
    await using client = await connectInMemory(server, { version, env: ENV });
    expect(await client.request("tools/call", { name: "failing" })).toMatchObject({ content: [{ text: "failing" }] });
    await client.connection.idle();
    expect(reports).toEqual(['(waitUntil of "tools/call") Error: the work of tools/call']);
  });
});

test("on stdio the hooks' work finishes before the server ends", async () => {
  const { server, notes, release } = watching();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const answered = new Promise((resolve) => output.once("data", resolve));
  const served = serveStdio(server, { input, output, env: ENV });
  input.end(`${JSON.stringify(requestOf("legacy", "tools/call", { name: "watched" }))}\n`);
  await answered;
  expect(notes).toEqual(["begun", "begun"]);
  release();
  await served;
  expect(notes).toEqual(DONE);
});

describe.each(["modern", "legacy"] as const)("an HTTP handler without a platform (%s)", (era) => {
  async function call(handle: ReturnType<typeof createHttpHandler<Bindings>>, name: string, execution?: object) {
    const message = requestOf(era, "tools/call", { name });
    const headers = { ...CONTENT, ...(era === "modern" ? standardHeaders(message) : {}) } as Record<string, string>;
    const init = { method: "POST", headers, body: JSON.stringify(message) };
    const response = await handle(new Request("http://localhost/mcp", init), ENV, execution as never);
    return response.text();
  }

  test("gives hooks env and waitUntil, and reports their failures to onError", async () => {
    const { server, notes, reports, release } = watching();
    const handle = createHttpHandler(server, { onError: () => undefined });
    expect(await call(handle, "watched")).toContain("watched");
    release();
    expect(await call(handle, "failing")).toContain("failing");
    await expect.poll(() => notes).toEqual(DONE);
    expect(reports).toEqual(['(waitUntil of "tools/call") Error: the work of tools/call']);
  });

  test("gives auth env and a context whose waitUntil reports failures", async () => {
    const { server, reports } = watching();
    const handle = createHttpHandler(server, {
      auth: (_, env: Bindings, execution) => {
        execution.waitUntil(Promise.reject(new Error(`the work of auth with ${env.NAME}`)));
        return "anonymous";
      },
      onError: () => undefined,
    });
    expect(await call(handle, "failing")).toContain("failing");
    await expect.poll(() => reports).toContain("(waitUntil) Error: the work of auth with the binding");
  });

  test("gives auth and hooks the context that was passed to it", async () => {
    const { server, release } = watching();
    const works: Promise<unknown>[] = [];
    const context = { props: { user: "alice" }, waitUntil: (work: Promise<unknown>) => void works.push(work) };
    const seen: unknown[] = [];
    const handle = createHttpHandler(server, {
      auth: (_request, _env, execution) => {
        seen.push(execution);
        return "anonymous";
      },
      onError: () => undefined,
    });
    await call(handle, "watched", context);
    expect(seen).toEqual([context]);
    expect(works).toHaveLength(2);
    release();
    await Promise.all(works);
  });
});
