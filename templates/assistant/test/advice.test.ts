/** Tests the advice in memory: with a model that uses tools, with a model that does not, and without a model. */
import { connectInMemory } from "mcp-edge/testing";
import { expect, test } from "vitest";
import type { ShopEnv } from "../src/basket.ts";
import { server } from "../src/shop.ts";

/** The advice does not use baskets. */
const env = {} as ShopEnv;
const args = { name: "recommend", arguments: { wish: "green tea", euros: 20 } };

interface Asked {
  readonly messages: readonly { readonly content: unknown }[];
  readonly tools?: readonly unknown[];
  readonly toolChoice?: { readonly mode: string };
}

/** Connects a client whose model answers with `reply`. */
function withModel(sampling: object, reply: (asked: Asked, turn: number) => object) {
  let turn = 0;
  return connectInMemory(server, {
    env,
    version: "2025-11-25",
    capabilities: { sampling },
    onRequest: ({ params }) => ({ model: "test", role: "assistant", ...reply(params as unknown as Asked, ++turn) }),
  });
}

const text = (value: string) => ({ content: { type: "text", text: value }, stopReason: "endTurn" });

test("a client without a model gets the results of a search", async () => {
  const client = await connectInMemory(server, { env });
  const { content } = await client.request("tools/call", args);
  expect(JSON.stringify(content)).toContain("sencha: Sencha, 100 g, 9.50 EUR");
  expect(JSON.stringify(content)).not.toContain("teapot");
  await client.close();
});

test("a model without tools gets the affordable products in one question", async () => {
  const client = await withModel({}, ({ messages, tools }) => {
    expect(tools).toBeUndefined();
    expect(JSON.stringify(messages)).toContain("darjeeling");
    expect(JSON.stringify(messages)).not.toContain("grinder");
    return text("Take the sencha.");
  });
  expect((await client.request("tools/call", args)).content).toEqual([{ type: "text", text: "Take the sencha." }]);
  await client.close();
});

test("a model with tools searches until it knows enough", async () => {
  const queries = ["green tea", "teapot"];
  const client = await withModel({ tools: {} }, ({ messages, tools }, turn) => {
    expect(tools).toHaveLength(1);
    const query = queries[turn - 1];
    if (query !== undefined) {
      return {
        content: [{ type: "tool_use", id: `use-${turn}`, name: "search_products", input: { query } }],
        stopReason: "toolUse",
      };
    }
    const results = JSON.stringify(messages.at(-1)?.content);
    return text(results.includes("No product matches") ? "Only the sencha: teapots cost more." : "wrong");
  });
  const { content } = await client.request("tools/call", args);
  expect(content).toEqual([{ type: "text", text: "Only the sencha: teapots cost more." }]);
  await client.close();
});

test("a model that does not stop searching is stopped after a number of turns", async () => {
  const modes: unknown[] = [];
  const client = await withModel({ tools: {} }, ({ toolChoice }, turn) => {
    modes.push(toolChoice?.mode);
    return { content: [{ type: "tool_use", id: `use-${turn}`, name: "search_products", input: { query: "" } }] };
  });
  const { content } = await client.request("tools/call", args);
  expect(content).toEqual([{ type: "text", text: "The model gave no advice." }]);
  expect(modes).toEqual(["auto", "auto", "auto", "auto", "none"]);
  await client.close();
});

test("a user who refuses to let the model answer gets the results of a search", async () => {
  const client = await withModel({}, () => {
    throw new Error("The user refused.");
  });
  expect(JSON.stringify((await client.request("tools/call", args)).content)).toContain("sencha");
  await client.close();
});
