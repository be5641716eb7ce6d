// @module-tag long
/** Each request of the client, in every version, over every transport. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type ClientError, McpError, type Progress } from "../../src/client/index.ts";
import { until } from "../http/wire.ts";
import { createServer, PAGE_SIZE, toolNamesOf } from "./fixtures/server.ts";
import { Lab, MODERN, PLACES } from "./places.ts";

const TOOLS = toolNamesOf(createServer());
let lab: Lab;
beforeAll(async () => {
  lab = await Lab.start();
});
afterEach(() => lab.leave());
afterAll(() => lab?.[Symbol.asyncDispose]());

/** The error with which a promise rejects. */
async function errorOf(promise: Promise<unknown>): Promise<ClientError> {
  try {
    await promise;
  } catch (error) {
    return error as ClientError;
  }
  throw new Error("The promise did not reject.");
}

describe.each(PLACES)("a client in $name", (place) => {
  const isModern = place.version === MODERN;

  test("has the name, version, capabilities and instructions of the server", async () => {
    const { client } = await lab.visit(place);
    expect(client.server).toMatchObject({
      protocolVersion: place.version,
      info: { name: "client-lab", version: "1.2.3" },
      instructions: "Call add.",
      capabilities: { tools: {}, prompts: {}, resources: {} },
    });
  });

  test("reads a list by page, and as a whole", async () => {
    const { client } = await lab.visit(place);
    const first = await client.listTools();
    expect(first.tools.map(({ name }) => name)).toEqual(["add", "fail", "slow"]);
    const second = await client.listTools({ cursor: String(first.nextCursor) });
    expect(second.tools[0]?.name).toBe("hold");
    expect((await client.tools().all()).map(({ name }) => name)).toEqual(TOOLS);
    const uris: string[] = [];
    for await (const { uri } of client.resources()) uris.push(uri);
    expect(uris).toEqual([1, 2, 3, 4].map((number) => `test://notes/${number}`));
    expect((await client.prompts().all()).map(({ name }) => name)).toEqual(["explain"]);
    expect((await client.resourceTemplates().all()).map((each) => each.uriTemplate)).toEqual(["db:///{table}"]);
  });

  test("calls a tool by its name or as it was listed", async () => {
    const { client } = await lab.visit(place);
    const [add] = (await client.listTools()).tools;
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ type: "text", text: "3" }] });
    expect(await client.callTool(add as { name: string }, { a: 2, b: 2 })).toMatchObject({ content: [{ text: "4" }] });
    expect(await client.callTool("fail")).toMatchObject({ isError: true, content: [{ text: "The city is unknown." }] });
  });

  test("gets the right result and progress for each of several concurrent calls", async () => {
    const { client } = await lab.visit(place);
    const seen: Progress[][] = [];
    const calls = [1, 2, 3].map((steps, index) => {
      const progress: Progress[] = [];
      seen[index] = progress;
      return client.callTool("slow", { steps, stepMs: 20 }, { onProgress: (each) => progress.push(each) });
    });
    expect((await Promise.all(calls)).map(({ isError }) => isError ?? false)).toEqual([false, false, false]);
    expect(seen.map((each) => each.map(({ progress }) => progress))).toEqual([[1], [1, 2], [1, 2, 3]]);
    const message = place.version === "2024-11-05" ? {} : { message: "step 1" };
    expect(seen[1]?.[0]).toEqual({ progress: 1, total: 2, ...message });
  });

  test("reads a resource, gets a prompt and completes an argument", async () => {
    const { client } = await lab.visit(place);
    expect((await client.readResource("test://notes/2")).contents).toMatchObject([{ text: "This is note 2." }]);
    const prompt = await client.getPrompt("explain", { language: "pyret" });
    expect(prompt.messages).toMatchObject([{ role: "user", content: { text: "Explain pyret." } }]);
    const reference = { type: "ref/prompt", name: "explain" } as const;
    expect((await client.complete(reference, "language", "py")).values).toEqual(["python", "pyret"]);
  });

  test("rejects an error response with its code, message and data", async () => {
    const { client } = await lab.visit(place);
    const error = await errorOf(client.readResource("test://nowhere"));
    expect(McpError.is(error)).toBe(true);
    expect(error).toMatchObject({ code: isModern ? -32602 : -32002, data: { uri: "test://nowhere" } });
  });

  test("sends a ping, which names its replacement in versions without ping", async () => {
    const { client } = await lab.visit(place);
    if (!isModern) return expect(await client.ping()).toBeUndefined();
    const error = await errorOf(client.ping());
    expect(error).toMatchObject({ code: "method-missing", source: "use", mayHaveRun: false });
    expect(error.message).toContain("server/discover");
    expect(await client.request("server/discover")).toMatchObject({
      supportedVersions: expect.arrayContaining([MODERN]),
    });
  });

  test("can send any request and any notification", async () => {
    const { client } = await lab.visit(place);
    expect(await client.request("lab/echo", { word: "hello" })).toMatchObject({ echo: "hello" });
    expect(await errorOf(client.request("lab/unknown"))).toMatchObject({ code: -32601 });
    const word = place.name.replaceAll(" ", "-");
    await client.notify("notifications/lab", { word });
    await until("the server hears the notification", async () => {
      const { content } = await client.callTool("heard");
      return JSON.stringify(content).includes(word);
    });
  });

  test("cancels a call by its signal, and its handler is notified", async () => {
    const { client } = await lab.visit(place);
    const key = `cancel in ${place.name}`;
    const controller = new AbortController();
    const call = client.callTool(
      "hold",
      { key },
      { signal: controller.signal, onProgress: () => controller.abort("enough") },
    );
    await expect(call).rejects.toBe("enough");
    await until("the handler notes the abort", async () =>
      JSON.stringify(await client.callTool("noted", { key })).includes("aborted"),
    );
  });

  test("sends nothing if the signal has already aborted", async () => {
    const { client } = await lab.visit(place);
    const signal = AbortSignal.abort("never");
    await expect(client.callTool("hold", { key: "never" }, { signal })).rejects.toBe("never");
    expect(await client.callTool("noted", { key: "never" })).toMatchObject({ content: [{ text: "nothing" }] });
  });

  test("extends the time limit of a call by progress by default", async () => {
    const { client } = await lab.visit(place);
    const call = client.callTool("slow", { steps: 10, stepMs: 200 }, { timeoutMs: 1_500 });
    expect(await call).toMatchObject({ content: [{ text: "done" }] });
  });

  test("ends a call without progress after the time limit, and its handler is notified", async () => {
    const { client } = await lab.visit(place);
    const key = `timeout in ${place.name}`;
    const error = await errorOf(client.callTool("hold", { key }, { timeoutMs: 400 }));
    expect(error).toMatchObject({ code: "timeout", source: "limit", mayHaveRun: true });
    await until("the handler notes the abort", async () =>
      JSON.stringify(await client.callTool("noted", { key })).includes("aborted"),
    );
  });

  test("ends a call after the total time limit in spite of its progress", async () => {
    const { client } = await lab.visit(place);
    const call = client.callTool("slow", { steps: 50, stepMs: 40 }, { timeoutMs: 1_000, totalTimeoutMs: 300 });
    expect(await errorOf(call)).toMatchObject({ code: "total-timeout", source: "limit" });
  });

  test("does not extend the time limit by progress with resetTimeoutOnProgress: false", async () => {
    const { client } = await lab.visit(place);
    const options = { timeoutMs: 300, resetTimeoutOnProgress: false, onProgress: () => undefined };
    const error = await errorOf(client.callTool("slow", { steps: 50, stepMs: 40 }, options));
    expect(error).toMatchObject({ code: "timeout" });
  });

  test("rejects a request that the server has not declared before it is sent", async () => {
    const { client } = await lab.visit(place);
    const method = isModern ? "logging/setLevel" : "subscriptions/listen";
    expect(await errorOf(client.request(method))).toMatchObject({ code: "method-missing", mayHaveRun: false });
  });

  test("rejects requests after close(), and pending requests as well", async () => {
    const { client } = await lab.visit(place);
    const { promise: started, resolve } = Promise.withResolvers<void>();
    const pending = errorOf(client.callTool("hold", { key: "closing" }, { onProgress: () => resolve() }));
    await started;
    await client.close();
    expect(await pending).toMatchObject({ code: "closed", source: "transport", mayHaveRun: true });
    expect(await errorOf(client.callTool("add"))).toMatchObject({ code: "closed", mayHaveRun: false });
  });
});

describe("options of a client", () => {
  test("cause an error with the right name if they are misspelt", async () => {
    await expect(lab.http("/mcp", { timeoutMS: 5 } as never)).rejects.toThrow('Did you mean "timeoutMs"?');
    const { client } = await lab.http();
    await expect(client.callTool("add", {}, { timeout: 5 } as never)).rejects.toThrow('"timeoutMs"');
  });

  test("can set a progress token, which only one request can use at a time", async () => {
    const { client, tap } = await lab.http();
    const call = client.callTool("slow", { steps: 2, stepMs: 50 }, { progressToken: "mine" });
    await expect(client.callTool("add", {}, { progressToken: "mine" })).rejects.toThrow("another open request");
    await call;
    expect(tap?.exchanges.at(-1)?.requestBody).toContain('"progressToken":"mine"');
  });

  test("send no token if progress is not used", async () => {
    const { client, tap } = await lab.http("/mcp", { resetTimeoutOnProgress: false });
    await client.callTool("add", { a: 1, b: 1 });
    expect(tap?.exchanges.at(-1)?.requestBody).not.toContain("progressToken");
  });

  test("can set headers, fixed or computed for each request, but not the headers of the protocol", async () => {
    let count = 0;
    const headers = () => {
      count += 1;
      return { authorization: `Bearer ${count}`, "content-type": "text/plain", "mcp-method": "ping" };
    };
    const { client, tap } = await lab.http("/mcp", { headers });
    await client.callTool("add", { a: 1, b: 1 });
    const sent = tap?.exchanges.map(({ requestHeaders }) => requestHeaders) ?? [];
    expect(sent.map(({ authorization }) => authorization)).toEqual(["Bearer 1", "Bearer 2"]);
    expect(sent.at(-1)).toMatchObject({ "content-type": "application/json", "mcp-method": "tools/call" });
  });

  test("can set fetch, which gets every request", async () => {
    const seen: string[] = [];
    const record = (url: string, init: RequestInit) => {
      seen.push(String(JSON.parse(String(init.body)).method));
      return fetch(url, init);
    };
    const { client } = await lab.http("/mcp", { fetch: record });
    await client.callTool("add", { a: 1, b: 1 });
    expect(seen).toEqual(["server/discover", "tools/call"]);
  });

  test("do not affect the headers that repeat the body of a request", async () => {
    const { client, tap } = await lab.http();
    await client.readResource("test://notes/1");
    await client.tools().all();
    await client.callTool("regional", { region: "Zürich" });
    const headers = tap?.exchanges.map(({ requestHeaders }) => requestHeaders) ?? [];
    expect(headers[1]).toMatchObject({ "mcp-method": "resources/read", "mcp-name": "test://notes/1" });
    expect(headers.at(-1)).toMatchObject({ "mcp-name": "regional", "mcp-param-region": "=?base64?WsO8cmljaA==?=" });
  });

  test("are not needed for a tool that was never listed: it is listed when the server misses a header", async () => {
    const { client, tap } = await lab.http();
    const { content } = await client.callTool("regional", { region: "west" });
    expect(content).toMatchObject([{ text: "west" }]);
    const methods = tap?.exchanges.map(({ requestHeaders }) => requestHeaders["mcp-method"]);
    const lists = Array(Math.ceil(TOOLS.length / PAGE_SIZE)).fill("tools/list");
    expect(methods).toEqual(["server/discover", "tools/call", ...lists, "tools/call"]);
  });

  test("limit a list to pagesMax pages, which ends with a warning", async () => {
    const warnings: string[] = [];
    const onEvent = (event: { type: string; message?: string }) => {
      if (event.type === "warning") warnings.push(String(event.message));
    };
    const { client } = await lab.http("/mcp", { pagesMax: 2, onEvent });
    expect(await client.tools().all()).toHaveLength(2 * PAGE_SIZE);
    expect(warnings).toEqual(["A list was cut off: it has more than 2 pages (pagesMax)."]);
  });

  test("include the level of setLevel, which a modern server gets with each request", async () => {
    const { client, tap } = await lab.http();
    await client.setLevel("warning");
    await client.callTool("add", { a: 1, b: 1 });
    expect(tap?.exchanges.at(-1)?.requestBody).toContain('"io.modelcontextprotocol/logLevel":"warning"');
  });
});
