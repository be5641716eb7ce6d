/** Questions and notifications of a server to the client, in every version and over every transport. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type {
  ClientError,
  CreateMessageRequestParams,
  ElicitAnswer,
  ElicitRequestFormParams,
  LogMessage,
} from "../../src/client/index.ts";
import { connect, McpError } from "../../src/client/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { until } from "../http/wire.ts";
import { Lab, ME, MODERN, PLACES } from "./places.ts";
import { DONE, discovered, type Faults, result, scripted } from "./scripted.ts";

expectLogs(/^mcp-edge: "tools\/call" "\w+" failed .* QuestionError: /);

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.start();
});
afterEach(() => lab.leave());
afterAll(() => lab?.[Symbol.asyncDispose]());

const REPLY = { role: "assistant", model: "tiny", content: { type: "text", text: "Short." } } as const;
/** Versions that have elicitation; URLs came later. */
const asksForms = PLACES.filter(({ version }) => version >= "2025-06-18");
const asksUrls = PLACES.filter(({ version }) => version >= "2025-11-25");

const textOf = (called: { content: readonly unknown[] }) => (called.content[0] as { text: string }).text;

describe.each(asksForms)("forms in $name", (place) => {
  test("return the defaults of fields that were left out", { tags: "long" }, async () => {
    const seen: ElicitRequestFormParams[] = [];
    const onElicit = (form: ElicitRequestFormParams): ElicitAnswer => {
      seen.push(form);
      return { action: "accept", content: { count: 5 } };
    };
    const { client } = await lab.visit(place, { onElicit });
    expect(JSON.parse(textOf(await client.callTool("order")))).toEqual({ size: "M", count: 5 });
    expect(seen).toMatchObject([{ message: "What do you order?", requestedSchema: { type: "object" } }]);
  });

  test.each(["decline", "cancel"] as const)("can be answered with %s", async (action) => {
    const { client } = await lab.visit(place, { onElicit: () => ({ action }) });
    expect(textOf(await client.callTool("order"))).toBe(action);
  });

  test("can be sent several times in one call", async () => {
    const asked: string[] = [];
    const onElicit = ({ message }: ElicitRequestFormParams): ElicitAnswer => {
      asked.push(message);
      return { action: "accept" };
    };
    const { client } = await lab.visit(place, { onElicit });
    expect(textOf(await client.callTool("order_twice"))).toBe("accept accept");
    expect(asked).toEqual(["First?", "Second?"]);
  });

  test("pause the time limit of a call while the user answers", { tags: "long" }, async () => {
    const onElicit = async (): Promise<ElicitAnswer> => {
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      return { action: "decline" };
    };
    const { client } = await lab.visit(place, { onElicit });
    expect(textOf(await client.callTool("order", {}, { timeoutMs: 2_000 }))).toBe("decline");
  });
});

describe.each(asksUrls)("pages to visit in $name", (place) => {
  test("have an address that reaches its own handler, and the consent reaches the server", async () => {
    const pages: string[] = [];
    const { client } = await lab.visit(place, {
      onElicitUrl: ({ url }) => {
        pages.push(url);
        return { action: "accept" };
      },
    });
    expect(textOf(await client.callTool("sign_in"))).toBe("accept");
    expect(pages).toEqual(["https://login.example/start"]);
  });
});

describe.each(PLACES)("questions and notifications in $name", (place) => {
  test("include a sampling request, which the client's model answers", async () => {
    const seen: CreateMessageRequestParams[] = [];
    const { client } = await lab.visit(place, {
      onSample: (request) => {
        seen.push(request);
        return REPLY;
      },
    });
    expect(textOf(await client.callTool("summarise"))).toContain("Short.");
    expect(seen).toMatchObject([{ maxTokens: 100, messages: [{ content: { text: "Summarise this." } }] }]);
  });

  test("include roots, and setRoots() changes what the next request returns", async () => {
    const { client } = await lab.visit(place, { roots: [{ uri: "file:///one" }] });
    expect(textOf(await client.callTool("places"))).toBe("file:///one");
    await client.setRoots([{ uri: "file:///two" }, { uri: "file:///three" }]);
    await until(
      "the new roots are listed",
      async () => textOf(await client.callTool("places")) === "file:///two file:///three",
    );
  });

  test("do not include a question without a handler, which is not declared", async () => {
    const { client } = await lab.visit(place);
    const outcome = await client.callTool("summarise").catch((error: unknown) => error);
    if (place.version === MODERN) expect(outcome).toMatchObject({ code: -32021 });
    else expect(outcome).toMatchObject({ isError: true });
    await expect(client.setRoots([])).rejects.toThrow("roots: []");
  });

  test("include changes of the lists, which reach their handlers", async () => {
    const changed = new Set<string>();
    const { client } = await lab.visit(place, {
      onToolsChanged: () => changed.add("tools"),
      onPromptsChanged: () => changed.add("prompts"),
      onResourcesChanged: () => changed.add("resources"),
    });
    // The stream for changes is opened in the background.
    await until("every change has arrived", async () => {
      await client.callTool("change");
      return changed.size === 3;
    });
  });

  test("include changes of a resource from subscribe() until unsubscribe()", async () => {
    const updated: string[] = [];
    const { client } = await lab.visit(place, { onResourceUpdated: (uri) => updated.push(uri) });
    await client.subscribe("test://notes/1");
    await client.subscribe("test://notes/2");
    await until("the update has arrived", async () => {
      await client.callTool("touch", { uri: "test://notes/2" });
      return updated.includes("test://notes/2");
    });
    expect(updated).not.toContain("test://notes/1");
    await client.unsubscribe("test://notes/2");
    updated.length = 0;
    await until("the other update has arrived", async () => {
      await client.callTool("touch", { uri: "test://notes/2" });
      await client.callTool("touch", { uri: "test://notes/1" });
      return updated.includes("test://notes/1");
    });
    expect(updated).not.toContain("test://notes/2");
  });

  test("include log messages from the level that was set", async () => {
    const messages: LogMessage[] = [];
    const { client } = await lab.visit(place, { onLog: (message) => messages.push(message) });
    await client.setLevel("error");
    await client.callTool("log");
    await until("the message has arrived", async () => messages.length > 0);
    expect(messages).toMatchObject([{ level: "error", data: { code: 7 } }]);
  });
});

describe("a modern server that asks", () => {
  const ask = {
    name: {
      method: "elicitation/create",
      params: { message: "Who?", requestedSchema: { type: "object", properties: {} } },
    },
  };

  test("gets the same state, only if there is one, and each round has its own id", async () => {
    const rounds: Record<string, unknown>[] = [];
    const ids: unknown[] = [];
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      const { inputResponses, requestState } = message?.params ?? {};
      rounds.push({ inputResponses, requestState });
      ids.push(message?.id);
      if (rounds.length === 1)
        return result(response, message?.id, {
          resultType: "input_required",
          inputRequests: ask,
          requestState: '{"a": 1} ',
        });
      if (rounds.length === 2)
        return result(response, message?.id, { resultType: "input_required", inputRequests: ask });
      return result(response, message?.id, DONE);
    });
    const client = await connect(server.url, { ...ME, onElicit: () => ({ action: "decline" }) });
    expect(await client.callTool("who")).toEqual(DONE);
    const inputResponses = { name: { action: "decline" } };
    expect(rounds).toEqual([{}, { inputResponses, requestState: '{"a": 1} ' }, { inputResponses }]);
    expect(new Set(ids).size).toBe(3);
  });

  test("gets accepted forms with the defaults of the fields that were left out", async () => {
    const answers: unknown[] = [];
    const properties = {
      a: { type: "string", default: "x" },
      b: { type: "integer", default: 0 },
      c: { type: "boolean" },
      d: { type: "boolean", default: true },
    };
    const form = { message: "Fill in", requestedSchema: { type: "object", properties } };
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      if (message?.params?.inputResponses === undefined) {
        const inputRequests = { form: { method: "elicitation/create", params: form } };
        return result(response, message?.id, { resultType: "input_required", inputRequests });
      }
      answers.push(message.params.inputResponses);
      return result(response, message.id, DONE);
    });
    const onElicit = (): ElicitAnswer => ({ action: "accept", content: { d: false } });
    const client = await connect(server.url, { ...ME, onElicit });
    await client.callTool("fill");
    expect(answers).toEqual([{ form: { action: "accept", content: { a: "x", b: 0, d: false } } }]);
  });

  test("is stopped after roundsMax rounds if it asks without end", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return result(response, message?.id, { resultType: "input_required", inputRequests: ask });
    });
    const client = await connect(server.url, { ...ME, roundsMax: 2, onElicit: () => ({ action: "accept" }) });
    await expect(client.callTool("who")).rejects.toMatchObject({ code: "rounds-max", source: "limit" });
    expect(server.asked.filter((each) => each === "POST tools/call")).toHaveLength(3);
  });

  test.each<[string, string, object, Faults]>([
    ["neither questions nor a state", "tools/call", {}, /carries neither/],
    [
      "questions that are not an object",
      "tools/call",
      { inputRequests: [] },
      { text: /inputRequests must be object/, schema: "2026-07-28" },
    ],
    [
      "a question without a method",
      "tools/call",
      { inputRequests: { a: {} } },
      { text: /inputRequests.a must/, schema: "2026-07-28" },
    ],
    ["questions for a list", "tools/list", { inputRequests: ask }, /is not answered with input_required/],
  ])("sends %s, which is refused as invalid", async (_, method, members, fault) => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return result(response, message?.id, { resultType: "input_required", ...members });
    }, fault);
    const client = await connect(server.url, { ...ME, onElicit: () => ({ action: "accept" }) });
    const params = method === "tools/call" ? { name: "who" } : undefined;
    await expect(client.request(method, params)).rejects.toMatchObject({ code: "answer-invalid", source: "server" });
  });

  test("gets no answer if a handler throws, and the request ends with the handler's error as the cause", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return result(response, message?.id, { resultType: "input_required", inputRequests: ask });
    });
    const cause = new Error("the window was closed");
    const onElicit = () => Promise.reject(cause);
    const client = await connect(server.url, { ...ME, onElicit });
    const failed = (await client.callTool("who").catch((error: unknown) => error)) as ClientError;
    expect(failed).toMatchObject({ code: "question-failed", source: "use", mayHaveRun: true });
    expect(failed.cause).toBe(cause);
  });
});

describe("a legacy server that asks", () => {
  const legacy = PLACES.filter(({ version }) => version === "2025-11-25");

  test.each(legacy)("gets an error without details of a handler that throws ($name)", async (place) => {
    const events: unknown[] = [];
    const { client } = await lab.visit(place, {
      onEvent: (event) => events.push(event),
      onSample: () => {
        throw new Error("key of /home/ada");
      },
    });
    const called = JSON.stringify(await client.callTool("summarise"));
    expect(called).toContain('"isError":true');
    expect(called).not.toContain("home");
    expect(events).toContainEqual(
      expect.objectContaining({ type: "handler-failed", handler: "sampling/createMessage" }),
    );
  });

  test.each(legacy)("gets an McpError of a handler unchanged ($name)", async (place) => {
    const { client } = await lab.visit(place, {
      onSample: () => {
        throw new McpError(-1, "The user refused.");
      },
    });
    expect(await client.callTool("summarise")).toMatchObject({ isError: true });
  });
});
