import { afterEach, describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, type Json, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

const TRACE = {
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
  tracestate: "vendor=value",
  baggage: "user=ada",
};

describe.each(ALL_VERSIONS)("ctx.traceContext in %s", (version) => {
  test.each<[string, Json, Json]>([
    ["has all members of _meta", TRACE, TRACE],
    ["has only the given members", { traceparent: TRACE.traceparent }, { traceparent: TRACE.traceparent }],
    ["is empty without members", {}, {}],
    ["omits values that are not strings", { traceparent: 1, tracestate: null, baggage: ["user=ada"] }, {}],
    ["omits other members", { "example.com/trace": "x", Traceparent: "x" }, {}],
  ])("%s", async (_, meta, expected) => {
    const server = new McpServer({ name: "traced", version: "1.0.0" })
      .tool("trace", {}, (_args, ctx) => JSON.stringify(ctx.traceContext))
      .prompt("trace", {}, (_args, ctx) => JSON.stringify(ctx.traceContext))
      .resource("trace://it", { name: "it" }, (_uri, ctx) => JSON.stringify(ctx.traceContext));
    const peer = await openPeer(server, version);
    const seen = [
      resultOf(await peer.request("tools/call", { name: "trace" }, meta)).content,
      resultOf(await peer.request("prompts/get", { name: "trace" }, meta)).messages,
      resultOf(await peer.request("resources/read", { uri: "trace://it" }, meta)).contents,
    ];
    const text = JSON.stringify(expected);
    expect(seen).toMatchObject([[{ text }], [{ content: { text } }], [{ text }]]);
  });
});
