/** The functions that make the questions of `inputRequired`, and the functions that read their answers. */
import { afterEach, expect, test } from "vitest";
import {
  inputRequired,
  McpServer,
  readElicitUrlResult,
  readRoots,
  readSampleResult,
  rootsQuestion,
  sampleQuestion,
} from "../../src/core/index.ts";
import { closePeers, type Json, MODERN_VERSION, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

const SAMPLE = {
  messages: [{ role: "user", content: { type: "text", text: "Name a city." } }],
  maxTokens: 10,
} as const;
const MODEL = { model: "test-model", role: "assistant", content: { type: "text", text: "Lisbon" } };
const ANSWERS: Readonly<Record<string, Json>> = {
  "sampling/createMessage": MODEL,
  "roots/list": { roots: [{ uri: "file:///home/ada", name: "home" }] },
};
const CAPABILITIES = { sampling: {}, roots: {} };

function newServer(): McpServer {
  const server = new McpServer({ name: "asker", version: "1.0.0" });
  return server.tool("ask", {}, (_, { inputResponses }) => {
    if (!inputResponses.model) return inputRequired({ model: sampleQuestion(SAMPLE), roots: rootsQuestion() });
    const { model, content } = readSampleResult(inputResponses.model);
    const [root] = readRoots(inputResponses.roots);
    return JSON.stringify({ model, content, root });
  });
}

const EXPECTED = JSON.stringify({
  model: "test-model",
  content: { type: "text", text: "Lisbon" },
  root: { uri: "file:///home/ada", name: "home" },
});

test("a legacy client is asked for sampling and roots, and the handler reads both answers", async () => {
  const peer = await openPeer(newServer(), "2025-11-25", {
    capabilities: CAPABILITIES,
    onRequest: ({ method }) => ANSWERS[method] ?? {},
  });
  const result = resultOf(await peer.request("tools/call", { name: "ask", arguments: {} }));
  expect(result.content).toEqual([{ type: "text", text: EXPECTED }]);
});

test("a modern client gets both questions in one result, and the handler reads both answers", async () => {
  const peer = await openPeer(newServer(), MODERN_VERSION, { capabilities: CAPABILITIES });
  const call = { name: "ask", arguments: {} };
  const asked = resultOf(await peer.request("tools/call", call));
  expect(asked).toMatchObject({
    resultType: "input_required",
    inputRequests: {
      model: { method: "sampling/createMessage", params: SAMPLE },
      roots: { method: "roots/list" },
    },
  });
  const inputResponses = { model: ANSWERS["sampling/createMessage"], roots: ANSWERS["roots/list"] };
  const result = resultOf(await peer.request("tools/call", { ...call, inputResponses }));
  expect(result.content).toEqual([{ type: "text", text: EXPECTED }]);
});

test("an invalid sampling result, an invalid answer to a URL and an invalid list of roots are refused with the reason", () => {
  expect(() => readSampleResult({ role: "assistant" })).toThrow('it has no string "model"');
  expect(() => readElicitUrlResult({ action: "done" })).toThrow('its "action" is not accept, decline or cancel');
  expect(() => readRoots({ roots: [{ name: "no uri" }] })).toThrow(
    'its "roots" is not a list of objects with a string "uri"',
  );
});
