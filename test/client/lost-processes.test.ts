// @module-tag long
/** Processes and objects that are lost in the middle of a call, of the server and of the client. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Workerd } from "../harness/workerd.ts";
import { until } from "../http/wire.ts";
import { startHttpTap } from "../oracle/http-tap.ts";
import { useClients } from "./join.ts";
import { Lab } from "./places.ts";

let lab: Lab;
let agents: Workerd;
const join = useClients();
beforeAll(async () => {
  lab = await Lab.start();
  agents = await Workerd.start({ entry: "test/client/fixtures/agent-worker.ts", objects: { AGENT: "Agent" } });
});
afterEach(() => lab.leave());
afterAll(async () => {
  await agents?.stop();
  await lab?.[Symbol.asyncDispose]();
});

const VERSIONS = ["2026-07-28", "2025-11-25"] as const;

describe.each(VERSIONS)("a server that is killed during a call, in %s", (version) => {
  test("ends the call with an error that says so, the client reports it, and works again", async () => {
    const { client, kinds } = await join(lab.url(), { protocolVersions: [version] });
    let began = false;
    const onProgress = () => {
      began = true;
    };
    const call = client.callTool("hold", { key: `killed ${version}` }, { onProgress }).catch((error: unknown) => error);
    await until("the call runs", () => began);
    await lab.worker.killAndRestart();
    const outcome = await call;
    expect(outcome).toMatchObject({ code: -32603, data: { reason: "interrupted" } });
    expect(kinds()).toContain(version === "2026-07-28" ? "request-repeated" : "stream-resumed");
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
  }, 60_000);
});

describe.each(VERSIONS)("a client in a Durable Object that is lost during a call, in %s,", (version) => {
  test("continues from its stored facts without a probe, and the call runs once", async () => {
    await using tap = await openTap();
    const key = `agent ${version}`;
    const agent = `${agents.origin}/${version}`;
    const body = JSON.stringify({ url: tap.url, version, key });
    expect((await fetch(agent, { method: "POST", body })).status).toBe(202);
    const calls = () => tap.methods().filter((method) => method === "tools/call").length;
    await until("the call has arrived", () => calls() === 1);
    const before = tap.methods();
    await agents.worker.abort("AGENT", `/${version}`);
    const outcome = await (await fetch(agent)).text();
    // A modern server takes the lost connection for a cancellation, so the repeated call may learn that it was interrupted.
    expect(outcome).toMatch(/charged|interrupted/);
    expect(calls()).toBe(2);
    const after = tap.methods().slice(before.length);
    expect(after.filter((method) => method === "server/discover")).toEqual([]);
    const { client } = await join(lab.url());
    expect(await client.callTool("runs", { key })).toMatchObject({ content: [{ text: "1" }] });
    // What is stored is not asked for again.
    expect(await (await fetch(agent)).text()).toBe(outcome);
    expect(calls()).toBe(2);
  });
});

/** Opens a tap whose messages are checked in the end, and which lists the methods that arrived. */
async function openTap() {
  const tap = await startHttpTap(lab.url());
  const methods = () => tap.exchanges.map(({ requestBody }) => requestBody && JSON.parse(requestBody).method);
  return {
    url: tap.url,
    methods,
    [Symbol.asyncDispose]: async () => {
      await tap.close();
      tap.oracle.expectClean();
    },
  };
}
