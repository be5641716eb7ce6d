// @module-tag long
/** Extensions: what they may do with requests, questions, results and notifications. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  type Client,
  type ClientEvent,
  type ClientExtension,
  connect,
  McpError,
  type OutgoingRequest,
} from "../../src/client/index.ts";
import type { JsonObject } from "../../src/core/protocol/jsonrpc.ts";
import { expectLogs } from "../harness/logs.ts";
import { until } from "../http/wire.ts";
import { Lab, ME, MODERN, PLACES } from "./places.ts";
import { CACHED, discovered, initialized, result, scripted } from "./scripted.ts";

expectLogs(/^mcp-edge: "tools\/call" "summarise" failed .* QuestionError: /);

let lab: Lab;
const clients: Client[] = [];
beforeAll(async () => {
  lab = await Lab.start();
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await lab.leave();
});
afterAll(() => lab?.[Symbol.asyncDispose]());

async function join(...[target, options]: Parameters<typeof connect>): Promise<Client> {
  const client = await connect(target, options);
  clients.push(client);
  return client;
}

const REPLY = { role: "assistant", model: "tiny", content: { type: "text", text: "Short." } } as const;
const textOf = (called: { content: readonly unknown[] }) => (called.content[0] as { text: string }).text;

/** Returns the arguments of a call changed. */
function withArguments(request: OutgoingRequest, args: JsonObject): OutgoingRequest {
  return { ...request, params: { ...request.params, arguments: args } };
}

describe.each(PLACES)("extensions of a client in $name", (place) => {
  test("see a call with its arguments before it is sent, and can change it", async () => {
    const seen: unknown[] = [];
    const confirm: ClientExtension = () => ({
      onRequest: (request, next) => {
        if (request.method !== "tools/call") return next(request);
        seen.push(request.params);
        return next(withArguments(request, { a: 20, b: 22 }));
      },
    });
    const { client } = await lab.visit(place, { use: [confirm] });
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("42");
    expect(seen).toMatchObject([{ name: "add", arguments: { a: 1, b: 2 } }]);
  });

  test("can refuse a call, which is not sent and rejects with the error of the extension", async () => {
    const refuse: ClientExtension = () => ({
      onRequest: async (request, next) => {
        if (request.method === "tools/call" && request.params?.name === "charge") throw new Error("The user refused.");
        return next(request);
      },
    });
    const { client } = await lab.visit(place, { use: [refuse] });
    await expect(client.callTool("charge", { key: `refused ${place.name}` })).rejects.toThrow("The user refused.");
    expect(textOf(await client.callTool("runs", { key: `refused ${place.name}` }))).toBe("0");
  });

  test("are nested: the first one sees a request first and its result last", async () => {
    const seen: string[] = [];
    const noting =
      (name: string): ClientExtension =>
      () => ({
        onRequest: async (request, next) => {
          seen.push(`${name} sees ${request.method}`);
          const answer = await next(request);
          seen.push(`${name} sees the result`);
          return answer;
        },
      });
    const { client } = await lab.visit(place, { use: [noting("one"), () => ({}), noting("two")] });
    await client.callTool("add", { a: 1, b: 2 });
    expect(seen).toEqual(["one sees tools/call", "two sees tools/call", "two sees the result", "one sees the result"]);
  });

  test("can pass a request on again, and see every method of the client", async () => {
    const methods: string[] = [];
    const twice: ClientExtension = () => ({
      onRequest: async (request, next) => {
        methods.push(request.method);
        await next(request);
        return next(request);
      },
    });
    const { client } = await lab.visit(place, { use: [twice] });
    const progress: number[] = [];
    const onProgress = (each: { progress: number }) => progress.push(each.progress);
    expect(textOf(await client.callTool("slow", { steps: 2, stepMs: 5 }, { onProgress }))).toBe("done");
    // A server that recognises the second call returns its result without running it.
    expect([
      [1, 2],
      [1, 2, 1, 2],
    ]).toContainEqual(progress);
    await client.listTools();
    await client.listPrompts();
    await client.listResources();
    await client.listResourceTemplates();
    await client.readResource("test://notes/1");
    await client.getPrompt("explain", { language: "C" });
    await client.complete({ type: "ref/prompt", name: "explain" }, "language", "p");
    expect(await client.request("lab/echo", { word: "x" })).toMatchObject({ echo: "x" });
    expect(methods).toEqual([
      "tools/call",
      "tools/list",
      "prompts/list",
      "resources/list",
      "resources/templates/list",
      "resources/read",
      "prompts/get",
      "completion/complete",
      "lab/echo",
    ]);
  });

  test("can edit, record and refuse a sampling request and its answer", async () => {
    const record: unknown[] = [];
    const review: ClientExtension = () => ({
      onQuestion: async (question, next) => {
        expect(question.context.signal.aborted).toBe(false);
        const edited = { ...question.params, systemPrompt: "Be brief." };
        const answer = await next({ ...question, params: edited });
        record.push([question.method, answer]);
        return { ...answer, content: { type: "text", text: "Reviewed." } };
      },
    });
    const prompts: unknown[] = [];
    const onSample = ({ systemPrompt }: { systemPrompt?: string }) => {
      prompts.push(systemPrompt);
      return REPLY;
    };
    const { client } = await lab.visit(place, { use: [review], onSample });
    expect(textOf(await client.callTool("summarise"))).toContain("Reviewed.");
    expect(prompts).toEqual(["Be brief."]);
    expect(record).toEqual([["sampling/createMessage", REPLY]]);
    const refuse: ClientExtension = () => ({
      onQuestion: async () => {
        throw new McpError(-1, "The user refused.");
      },
    });
    const refusing = await lab.visit(place, { use: [refuse], onSample });
    const outcome = await refusing.client.callTool("summarise").catch((error: Error) => error);
    expect(outcome).toMatchObject(place.version === MODERN ? { code: "question-failed" } : { isError: true });
  });

  test("get notifications before the handlers of the options, if they name the changes that they need", async () => {
    const order: string[] = [];
    const watching: ClientExtension = () => ({
      changes: ["tools"],
      onNotification: (method) => order.push(method),
    });
    const onToolsChanged = () => order.push("onToolsChanged");
    const { client } = await lab.visit(place, { use: [watching], onToolsChanged });
    await until("the change arrives", async () => {
      await client.callTool("change");
      return order.length >= 2;
    });
    expect(order.filter((each) => !/prompts|resources/.test(each)).slice(0, 2)).toEqual([
      "notifications/tools/list_changed",
      "onToolsChanged",
    ]);
    const alone: string[] = [];
    const quiet: ClientExtension = () => ({ changes: ["prompts"], onNotification: (method) => alone.push(method) });
    const other = await lab.visit(place, { use: [quiet] });
    await until("a change of the prompts arrives", async () => {
      await other.client.callTool("change");
      return alone.includes("notifications/prompts/list_changed");
    });
  });
});

describe("capabilities of a client", () => {
  test.each([MODERN, "2025-11-25"])("merges those of extensions and options (%s)", async (version) => {
    const declared: unknown[] = [];
    await using server = await scripted(({ message }, response) => {
      const { params = {}, method, id } = message ?? {};
      const meta = params._meta as JsonObject | undefined;
      declared.push(meta?.["io.modelcontextprotocol/clientCapabilities"] ?? params.capabilities);
      if (method === "server/discover") return result(response, id, discovered());
      if (method === "initialize") return result(response, id, initialized("2025-11-25"));
      return response.writeHead(202).end();
    });
    const one: ClientExtension = () => ({
      capabilities: { extensions: { "example.com/one": {} }, tasks: { list: {} } },
    });
    const two: ClientExtension = () => ({ capabilities: { extensions: { "example.com/two": { deep: true } } } });
    await join(server.url, {
      ...ME,
      protocolVersions: [version],
      capabilities: { extensions: { "example.com/own": {} } },
      onElicit: () => ({ action: "decline" }),
      use: [one, two],
    });
    expect(declared[0]).toEqual({
      elicitation: { form: {} },
      extensions: { "example.com/own": {}, "example.com/one": {}, "example.com/two": { deep: true } },
      tasks: { list: {} },
    });
  });
});

describe("an extension", () => {
  test("is created once for each client, and uses the client and its handlers", async () => {
    let created = 0;
    const events: ClientEvent[] = [];
    const extension: ClientExtension = ({ client, answer, report }) => {
      created += 1;
      return {
        onRequest: async (request, next) => {
          if (request.method !== "example/ask") return next(request);
          report({ type: "warning", message: `connected to ${client.server.info?.name}` });
          const { tools } = await client.listTools();
          const { roots } = await answer("roots/list", {}, { signal: new AbortController().signal });
          return { tools: tools.length, roots };
        },
      };
    };
    const root = { uri: "file:///home" };
    const options = { use: [extension], roots: [root], onEvent: (event: ClientEvent) => events.push(event) };
    const { client } = await lab.http("/mcp", options);
    expect(created).toBe(1);
    expect(await client.request("example/ask")).toEqual({ tools: 3, roots: [root] });
    expect(events).toContainEqual({ type: "warning", message: "connected to client-lab" });
    await lab.http("/mcp", options);
    expect(created).toBe(2);
  });

  test("can change a call and thereby its headers, which a raw tools/call has too", async () => {
    const regions: unknown[] = [];
    const inputSchema = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };
    await using server = await scripted(({ headers, message }, response) => {
      const { id, method } = message ?? {};
      if (method === "server/discover") return result(response, id, discovered());
      if (method === "tools/list")
        return result(response, id, { ...CACHED, tools: [{ name: "regional", inputSchema }] });
      regions.push(headers["mcp-param-region"]);
      return result(response, id, { resultType: "complete", content: [] });
    });
    const moving: ClientExtension = () => ({
      onRequest: (request, next) =>
        next(request.method === "tools/call" ? withArguments(request, { region: "east" }) : request),
    });
    const client = await join(server.url, { ...ME, use: [moving] });
    await client.listTools();
    await client.callTool("regional", { region: "west" });
    await client.request("tools/call", { name: "regional", arguments: { region: "west" } });
    expect(regions).toEqual(["east", "east"]);
  });

  test("handles the result types that it names, and other types remain invalid", async () => {
    await using server = await scripted(({ message }, response) => {
      const { id, method, params } = message ?? {};
      if (method === "server/discover") return result(response, id, discovered());
      return result(response, id, { resultType: params?.name, taskId: "t" });
    }, /resultType|CreateTaskResult|CallToolResult/);
    const kept: ClientExtension = () => ({
      resultTypes: ["task"],
      onRequest: async (request, next) => {
        const answer = await next(request);
        return answer.resultType === "task" ? { content: [{ type: "text", text: String(answer.taskId) }] } : answer;
      },
    });
    const client = await join(server.url, { ...ME, use: [kept] });
    expect(textOf(await client.callTool("task"))).toBe("t");
    await expect(client.callTool("other")).rejects.toMatchObject({ code: "answer-invalid" });
  });

  test("gets the result input_required if it names it, and the caller sends the answers", async () => {
    const form = { mode: "form", message: "?", requestedSchema: { type: "object", properties: {} } };
    const inputRequests = { form: { method: "elicitation/create", params: form } };
    const answers = { inputResponses: { form: { action: "decline" } }, requestState: "state" };
    await using server = await scripted(({ message }, response) => {
      const { id, method, params } = message ?? {};
      if (method === "server/discover") return result(response, id, discovered());
      const { inputResponses, requestState } = params ?? {};
      if (inputResponses === undefined) {
        return result(response, id, { resultType: "input_required", inputRequests, requestState: "state" });
      }
      const text = JSON.stringify({ inputResponses, requestState });
      return result(response, id, { resultType: "complete", content: [{ type: "text", text }] });
    });
    const proxy: ClientExtension = () => ({ capabilities: { elicitation: {} }, resultTypes: ["input_required"] });
    let asked = 0;
    const onElicit = () => {
      asked += 1;
      return { action: "accept" } as const;
    };
    const client = await join(server.url, { ...ME, use: [proxy], onElicit });
    const call = { name: "order", arguments: {} };
    expect(await client.request("tools/call", call)).toMatchObject({ inputRequests, requestState: "state" });
    const ended = await client.request("tools/call", { ...call, ...answers });
    expect(JSON.parse(textOf(ended as never))).toEqual(answers);
    expect(asked).toBe(0);
  });

  test("sees one request, even if the session is reopened and the request sent again", async () => {
    let sessions = 0;
    await using server = await scripted(({ headers, message }, response) => {
      const { id, method } = message ?? {};
      if (method === "initialize") {
        sessions += 1;
        return result(response, id, initialized("2025-11-25"), { "mcp-session-id": `s${sessions}` });
      }
      if (method !== "tools/list") return response.writeHead(202).end();
      if (headers["mcp-session-id"] === "s1") return response.writeHead(404).end();
      return result(response, id, { tools: [] });
    });
    let seen = 0;
    const counting: ClientExtension = () => ({
      onRequest: (request, next) => {
        seen += 1;
        return next(request);
      },
    });
    const client = await join(server.url, {
      ...ME,
      protocolVersions: ["2025-11-25"],
      use: [counting],
      onEvent: () => undefined,
    });
    expect(await client.listTools()).toMatchObject({ tools: [] });
    expect([seen, sessions]).toEqual([1, 2]);
  });

  test("can throw in onNotification, which is reported and has no other effect", async () => {
    const events: ClientEvent[] = [];
    const broken: ClientExtension = () => ({
      changes: ["tools"],
      onNotification: () => {
        throw new Error("broken extension");
      },
    });
    let changes = 0;
    const { client } = await lab.http("/mcp", {
      use: [broken],
      onEvent: (event) => events.push(event),
      onToolsChanged: () => {
        changes += 1;
      },
    });
    await until("the handler of the options is called", async () => {
      await client.callTool("change");
      return changes > 0;
    });
    expect(events).toContainEqual(expect.objectContaining({ type: "handler-failed", handler: "use: onNotification" }));
  });

  test("cannot prevent the signal of the caller from ending the request by never settling", async () => {
    const stuck: ClientExtension = () => ({
      onRequest: (request, next) => (request.method === "tools/call" ? new Promise(() => undefined) : next(request)),
    });
    const { client } = await lab.http("/mcp", { use: [stuck] });
    const controller = new AbortController();
    const called = client.callTool("add", { a: 1, b: 1 }, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(called).rejects.toThrow("enough");
  });
});
