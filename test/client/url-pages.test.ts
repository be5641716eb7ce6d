// @module-tag long
/** The error -32042 of 2025-11-25: pages that the user has to visit before a request runs. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  type Client,
  type ClientOptions,
  connect,
  type ElicitRequestURLParams,
  isUrlElicitationRequired,
  type QuestionContext,
  visitPages,
} from "../../src/client/index.ts";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { ME } from "./places.ts";
import { error, initialized, result, scripted } from "./scripted.ts";

let worker: TestWorker;
const open: { client: Client; tap: HttpTap }[] = [];
beforeAll(async () => {
  worker = await startWorker({
    entry: "test/client/fixtures/pages.ts",
    objects: { MCP: "McpObject" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterEach(async () => {
  for (const { client, tap } of open.splice(0)) {
    await client.close();
    await tap.close();
    tap.oracle.expectClean();
  }
});
afterAll(() => worker?.stop());

async function visit(options: Partial<ClientOptions>): Promise<Client> {
  const tap = await startHttpTap(worker.url("/mcp"));
  const client = await connect(tap.url, { ...ME, protocolVersions: ["2025-11-25"], use: [visitPages()], ...options });
  open.push({ client, tap });
  return client;
}

const textOf = ({ content }: { readonly content: readonly unknown[] }) => (content[0] as { text: string }).text;

test("a call is sent again when the server reports that the user has visited all pages", async () => {
  const pages: ElicitRequestURLParams[] = [];
  const completed: string[] = [];
  const client: Client = await visit({
    onElicitUrl: (page) => {
      pages.push(page);
      // The user visits the page after the consent.
      setTimeout(() => void client.callTool("finish", { id: page.elicitationId }), 50);
      return { action: "accept" };
    },
    onElicitationComplete: (id) => completed.push(id),
  });
  expect(textOf(await client.callTool("sync", { key: crypto.randomUUID() }))).toBe("synchronised");
  expect(pages.map(({ url, message }) => [url, message])).toEqual([
    ["https://files.example/", "Open your files"],
    ["https://mail.example/", "Open your mail"],
  ]);
  expect(completed.toSorted()).toEqual(pages.map(({ elicitationId }) => String(elicitationId)).toSorted());
});

test("a call is sent again when the user confirms that the pages are finished", async () => {
  const client: Client = await visit({
    onElicitUrl: async ({ elicitationId }, { finish }) => {
      await client.callTool("finish_silently", { id: elicitationId });
      finish?.();
      return { action: "accept" };
    },
  });
  expect(textOf(await client.callTool("sync", { key: crypto.randomUUID() }))).toBe("synchronised");
});

test("the time limit of a call without progress does not include the visit, and a signal ends the wait", async () => {
  const contexts: QuestionContext[] = [];
  const client = await visit({
    onElicitUrl: (_, context) => {
      contexts.push(context);
      return { action: "accept" };
    },
  });
  const controller = new AbortController();
  const options = { timeoutMs: 2_000, signal: controller.signal };
  const called = client.callTool("sync", { key: crypto.randomUUID() }, options);
  const refused = expect(called).rejects.toThrow("The user left.");
  await until("both pages are shown", () => contexts.length === 2);
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  controller.abort(new Error("The user left."));
  await refused;
  expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, true]);
});

describe("a call that needs pages", () => {
  const urls = [{ url: "https://files.example/" }, { url: "https://mail.example/" }];

  test("rejects with their addresses if there is no handler", async () => {
    const client = await visit({});
    const called = client.callTool("sync", { key: crypto.randomUUID() });
    const refused = await called.catch((reason: unknown) => reason);
    expect(isUrlElicitationRequired(refused) && refused.data.elicitations).toMatchObject(urls);
    expect(refused).toMatchObject({ name: "McpError", code: -32042 });
  });

  test("rejects with their addresses if the user refuses one page, and the handler of the other page is aborted", async () => {
    const contexts: QuestionContext[] = [];
    const client = await visit({
      onElicitUrl: ({ url }, context) => {
        contexts.push(context);
        return url.includes("files") ? { action: "decline" } : new Promise(() => undefined);
      },
    });
    const called = client.callTool("sync", { key: crypto.randomUUID() });
    await expect(called).rejects.toMatchObject({ code: -32042, data: { elicitations: urls } });
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  });
});

test("a handler of pages that throws ends the call", async () => {
  const client = await visit({
    onElicitUrl: () => {
      throw new Error("There is no browser.");
    },
  });
  const called = client.callTool("sync", { key: crypto.randomUUID() });
  await expect(called).rejects.toMatchObject({ code: "question-failed", message: /There is no browser/ });
});

describe("a server that requires a visit", () => {
  const page = { mode: "url", url: "https://x.example/", message: "Visit.", elicitationId: "x" };

  function serve(data: unknown) {
    return scripted((request, response) => {
      const { method, id } = request.message ?? {};
      if (method === "initialize") return result(response, id, initialized("2025-11-25"));
      if (method === "tools/call") return error(response, 200, id, -32042, data);
      if (request.method === "GET") return response.writeHead(405).end();
      return response.writeHead(method === "server/discover" ? 404 : 202).end();
    });
  }

  const options: ClientOptions = {
    ...ME,
    use: [visitPages({ roundsMax: 2 })],
    onElicitUrl: (_, { finish }) => {
      finish?.();
      return { action: "accept" };
    },
  };

  test("is asked at most roundsMax times", async () => {
    await using server = await serve({ elicitations: [page] });
    const client = await connect(server.url, options);
    await expect(client.callTool("sync")).rejects.toMatchObject({ code: "rounds-max" });
    expect(server.asked.filter((each) => each === "POST tools/call")).toHaveLength(3);
    await client.close();
  });

  test("causes no visit without a page", async () => {
    await using server = await serve({ elicitations: [] });
    const client = await connect(server.url, options);
    const refused = await client.callTool("sync").catch((reason: unknown) => reason);
    expect(refused).toMatchObject({ code: -32042 });
    expect(isUrlElicitationRequired(refused)).toBe(false);
    await client.close();
  });
});
