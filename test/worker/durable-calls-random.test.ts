// @module-tag long
/**
 * Random handlers with random losses: the result equals the result of an uninterrupted run, and each step has its effect
 * once. A loss happens while the handler waits for its client, so no step is running. For long runs use `npm run
 * replay`; `REPLAY_SEED` and `REPLAY_PATH` repeat a failed run.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { type Cuttable, Session } from "../conformance/support.ts";
import { ignoreLogs } from "../harness/logs.ts";
import type { Members } from "../http/messages.ts";
import { boundsOf, holds } from "../properties/replay-property.ts";
import { ModernClient, readAnswer } from "./client.ts";
import type { Script } from "./fixtures/durable-calls.ts";

// workerd logs a reset of an object during a write, which happens at random moments.
ignoreLogs(/aborted by a test/);

/** A run may lose its process a dozen times. */
const BOUNDS = boundsOf(25, 10_000);

let worker: TestWorker;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/durable-calls.ts",
    objects: { MCP: "McpObject", HASTY: "HastyObject", EFFECTS: "Effects" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

const leaf: fc.Arbitrary<Script> = fc.constantFrom("ask", "ask", "step", "fail").map((kind) => ({ kind }) as Script);
const script: fc.Arbitrary<Script> = fc.letrec<{ node: Script }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    leaf,
    fc.record({
      kind: fc.constantFrom("all" as const, "each" as const),
      of: fc.array(tie("node"), { minLength: 1, maxLength: 3 }),
    }),
  ),
})).node;

const LOSSES = ["none", "none", "evicted", "reset", "killed"] as const;
type Loss = (typeof LOSSES)[number];
const losses = fc.infiniteStream(fc.constantFrom(...LOSSES));

/** The result of a script when nothing interrupts it, and its steps. */
function expected(of: Script, path = "s"): { result: unknown; steps: string[] } {
  switch (of.kind) {
    case "ask":
      return { result: path, steps: [] };
    case "step":
      return { result: `${path} 1`, steps: [path] };
    case "fail":
      return { result: path, steps: [] };
    default: {
      const parts = of.of.map((each, index) => expected(each, `${path}.${index}`));
      return { result: parts.map(({ result }) => result), steps: parts.flatMap(({ steps }) => steps) };
    }
  }
}

const effectsOf = async (key: string) => (await fetch(worker.url(`/effects/${key}`))).json() as Promise<Members>;
const able = { elicitation: {}, roots: {} };
const answerTo = ({ params }: Members) => {
  const { message } = params as { message: string };
  return { action: "accept", content: { value: message.replace("?", "") } };
};

async function lose(how: Loss): Promise<void> {
  if (how === "evicted") await worker.evict("McpObject");
  if (how === "killed") await worker.restart();
  if (how === "reset") for (const id of await worker.objects("McpObject")) await worker.abort("McpObject", id);
}

/** A legacy client that answers one question at a time, and resumes its stream when it was lost. */
async function runLegacy(of: Script, key: string, next: () => Loss): Promise<unknown> {
  const session = await Session.open(worker.url("/mcp"), { capabilities: able });
  let stream: Cuttable = await session.stream("follow", { key, script: of });
  // A script that asks nothing is answered at once.
  if (stream.response.headers.get("content-type") === "application/json") {
    return JSON.parse((await stream.end()).raw) as unknown;
  }
  let cursor: string | undefined;
  const seen = new Map<unknown, Members>();
  const answered = new Set<unknown>();
  for (;;) {
    const isNews = ({ messages }: Cuttable) => {
      for (const message of messages) if (message.id !== undefined) seen.set(message.id, message);
      return [...seen.values()].some((message) => !answered.has(message.id));
    };
    await stream.has("a question or the result", () => isNews(stream));
    const result = [...seen.values()].find((message) => "result" in message || "error" in message);
    if (result) return result;
    const how = next();
    // A stream may be lost before its first event: then the client resumes where the previous one ended.
    cursor = stream.events.findLast(({ id }) => id !== undefined)?.id ?? cursor;
    await lose(how);
    const open = [...seen.values()].filter(({ id }) => !answered.has(id));
    const question = open[open.length - 1];
    if (!question) throw new Error("no question");
    answered.add(question.id);
    const sent = await session.send({ jsonrpc: "2.0", id: question.id, result: answerTo(question) });
    expect(sent.status).toBe(202);
    if (how === "killed") stream = await session.get(cursor);
  }
}

async function runModern(of: Script, key: string, next: () => Loss): Promise<unknown> {
  let more: Members = {};
  for (;;) {
    const params = { name: "follow", arguments: { key, script: of }, ...more };
    const meta = { "io.modelcontextprotocol/clientCapabilities": able };
    const { messages } = await readAnswer(new ModernClient(worker.url("/mcp")).request("tools/call", params, { meta }));
    const [{ result }] = messages as [{ result: Members }];
    if (result.resultType !== "input_required") return { result };
    await lose(next());
    const asked = Object.entries(result.inputRequests as Record<string, Members>);
    // Only one answer at a time: the other questions are asked again.
    const inputResponses = Object.fromEntries(asked.slice(0, 1).map(([name, question]) => [name, answerTo(question)]));
    more = { inputResponses, requestState: result.requestState };
  }
}

describe.each([
  ["a legacy session", runLegacy],
  ["a modern client", runModern],
] as const)("a random handler asked by %s", (_, run) => {
  test("returns the result of an uninterrupted run, and has each effect once", {
    timeout: BOUNDS.timeoutMs,
  }, async () => {
    await holds(
      fc.asyncProperty(script, losses, async (of, how) => {
        const key = crypto.randomUUID();
        const { result, steps } = expected(of);
        const answer = (await run(of, key, () => how.next().value as Loss)) as {
          result: { content: { text: string }[] };
        };
        expect(JSON.parse(answer.result.content[0]?.text ?? "")).toEqual(result);
        expect(await effectsOf(key)).toEqual(Object.fromEntries(steps.map((step) => [step, 1])));
      }),
      BOUNDS,
    );
  });
});
