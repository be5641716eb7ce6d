/**
 * Handlers that mix questions with timers and concurrent branches, on one connection. Each ends with its result or with
 * an error that gives the reason.
 */
import { afterEach, describe, expect, test } from "vitest";
import { type JSONRPCRequest, McpServer } from "../../src/core/index.ts";
import { SHAPES } from "./asking-shapes.ts";
import { closePeers, type Json, MODERN_VERSION, openPeer, type Peer, resultOf } from "./peer.ts";

afterEach(closePeers);

const answer = ({ params }: JSONRPCRequest): Json => ({ action: "accept", content: { name: String(params?.message) } });

/** Calls the tool and answers the questions of each round until there is a result. */
async function finish(peer: Peer): Promise<Json> {
  let more: Json = {};
  for (let rounds = 0; rounds < 10; rounds += 1) {
    const result = resultOf(await peer.request("tools/call", { name: "shape", ...more }));
    if (result.resultType !== "input_required") return result;
    const asked = Object.entries(result.inputRequests as Record<string, JSONRPCRequest>);
    const inputResponses = Object.fromEntries(asked.map(([key, question]) => [key, answer(question)]));
    more = { inputResponses, requestState: result.requestState };
  }
  throw new Error("it asks forever");
}

describe.each(["2025-11-25", MODERN_VERSION])("handlers in %s", (version) => {
  test.each(Object.entries(SHAPES))("end with a result or error: %s", async (_, { run, text, ...shape }) => {
    const timeoutMs = shape.fails?.source.includes("did not finish") ? 200 : 0;
    const server = new McpServer({ name: "shapes", version: "1.0.0" });
    server.tool("shape", { timeoutMs }, (_args, ctx) => run(ctx as never));
    const peer = await openPeer(server, version, {
      capabilities: { elicitation: { form: {} } },
      limits: { elicitTimeoutMs: 500 },
      onRequest: answer,
    });
    const fails = version === MODERN_VERSION ? shape.fails : shape.failsLive;
    const result = await finish(peer);
    if (!fails) expect(result).toMatchObject({ content: [{ text }] });
    else {
      expect(result).toMatchObject({ isError: true });
      expect(String(peer.reports.at(-1))).toMatch(fails);
    }
  });
});
