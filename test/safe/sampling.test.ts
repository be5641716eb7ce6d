/** Sampling that is filtered in both directions, with a client in memory. */
import { expect, test } from "vitest";
import { McpServer, type SampleParams } from "../../src/core/index.ts";
import { filterSampling, mapText, RefusedError } from "../../src/safe/index.ts";

const params = (text: string): SampleParams => ({
  messages: [{ role: "user", content: { type: "text", text } }],
  systemPrompt: `system ${text}`,
  maxTokens: 10,
});
const answer = (text: string) => ({ model: "m", role: "assistant" as const, content: { type: "text", text } });

test("by default, prompt and answer are cleaned", async () => {
  const sent: SampleParams[] = [];
  const sample = filterSampling(async (given) => {
    sent.push(given);
    return answer("c\u202ed");
  });
  expect(await sample(params("a\u200bb"))).toEqual(answer("cd"));
  expect(sent).toEqual([params("ab")]);
});

test("the filters see the request and the answer, and may change both", async () => {
  const seen: unknown[] = [];
  const sample = filterSampling(async (given) => answer(JSON.stringify(given.messages)), {
    outgoing: (given) => mapText(given, (text) => text.replace("ada@a.example", "(address)")),
    incoming: async (result, given) => {
      seen.push(given);
      return { ...result, content: { type: "text", text: `checked ${JSON.stringify(result.content).length}` } };
    },
  });
  const { content } = await sample(params("ada@a.example"));
  expect(content).toEqual({ type: "text", text: expect.stringMatching(/^checked \d+$/) });
  expect(seen).toEqual([params("(address)")]);
});

test("a filter that throws refuses the request: it is not sent, or the handler gets no answer", async () => {
  let count = 0;
  const refuse = () => {
    throw new RefusedError("response", "No.");
  };
  const send = async () => {
    count++;
    return answer("a");
  };
  await expect(filterSampling(send, { outgoing: refuse })(params("a"))).rejects.toThrow("No.");
  expect(count).toBe(0);
  await expect(filterSampling(send, { incoming: refuse })(params("a"))).rejects.toThrow("No.");
  expect(count).toBe(1);
});

test("a misspelt filter throws", () => {
  expect(() => filterSampling(async () => answer("a"), { outgoin: (p: SampleParams) => p } as object)).toThrow(
    'Did you mean "outgoing"?',
  );
});

test("the function of filterSampling() can be used in place of ctx.sample", () => {
  const server = new McpServer({ name: "a", version: "1" });
  server.tool("ask", {}, async (_, ctx) => {
    const sample = filterSampling((given) => ctx.sample(given));
    return JSON.stringify((await sample(params("a"))).content);
  });
});
