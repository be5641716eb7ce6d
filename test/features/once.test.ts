import { afterEach, describe, expect, test } from "vitest";
import { IDEMPOTENCY_KEY, McpServer, outcomesInMemory } from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

/** A server whose tools count their runs. */
function createServer() {
  let runs = 0;
  const count = () => {
    runs += 1;
    return String(runs);
  };
  return new McpServer({ name: "once", version: "1.0.0" })
    .tool("count", {}, count)
    .tool("count_once", { once: true }, count);
}

describe.each(ALL_VERSIONS)("on a connection of %s", (version) => {
  const text = async (answer: Promise<Parameters<typeof resultOf>[0]>) => {
    const [block] = resultOf(await answer).content as { text: string }[];
    return block?.text;
  };

  test("a call with a key runs once; one without runs each time", async () => {
    const peer = await openPeer(createServer(), version);
    const call = (key?: string) =>
      text(peer.request("tools/call", { name: "count" }, key === undefined ? {} : { [IDEMPOTENCY_KEY]: key }));
    expect([await call("a"), await call("a"), await call("b"), await call(), await call()]).toEqual([
      "1",
      "1",
      "2",
      "3",
      "4",
    ]);
  });

  test("a tool declared once runs once for each request id", async () => {
    const peer = await openPeer(createServer(), version);
    const call = (id: number) => text(peer.request("tools/call", { name: "count_once" }, {}, { id, bad: true }));
    expect([await call(50), await call(50), await call(51)]).toEqual(["1", "1", "2"]);
  });
});

test("outcomes in memory are bounded by number and by age; the oldest go first", async () => {
  const runs: string[] = [];
  const present = (keep: ReturnType<typeof outcomesInMemory>, name: string) =>
    keep({ name, digest: "d" }, async () => {
      runs.push(name);
      return name;
    });
  const few = outcomesInMemory(2);
  for (const name of ["a", "b", "a", "c", "c", "a"]) expect(await present(few, name)).toBe(name);
  expect(runs.splice(0)).toEqual(["a", "b", "c", "a"]);
  const brief = outcomesInMemory(10, 0);
  for (const name of ["a", "a"]) await present(brief, name);
  expect(runs).toEqual(["a", "a"]);
  await expect(few({ name: "a", digest: "other" }, async () => "")).rejects.toMatchObject({ code: -32602 });
});
