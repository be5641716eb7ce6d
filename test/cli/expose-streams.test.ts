/** `mcp-edge expose`: streams that break are continued after their last event, from a log in memory. */
import { afterEach, describe, expect, test } from "vitest";
import { Gateway } from "../../src/cli/commands/expose/gateway.ts";
import { StreamLog } from "../../src/cli/commands/expose/stream-log.ts";
import { type ClientOptions, connect } from "../../src/client/index.ts";
import { resolveHttpLimits } from "../../src/http/response-times.ts";
import { type Listening, listen } from "../../src/node/http-server.ts";
import { stdio } from "../../src/node/index.ts";
import { startProxy } from "../../src/testing/proxy.ts";
import { ME } from "../client/places.ts";
import { startHttpTap } from "../oracle/http-tap.ts";
import { SERVER } from "./run.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Starts a gateway in this process. */
async function start(): Promise<Listening> {
  const [command = "", ...args] = SERVER;
  const open = (more: Partial<ClientOptions>) =>
    connect(stdio({ command, args, stderr: "ignore" }), { ...ME, ...more });
  const gateway = new Gateway({ connect: open, path: "/mcp", token: undefined, log: () => undefined });
  const listening = await listen((request) => gateway.handle(request), 0);
  closing.push(
    () => listening.close(),
    () => gateway.close(),
  );
  return listening;
}

test.each(["2025-03-26", "2025-11-25"])(
  "a client of %s gets all progress of a call that is cut twice, and its result",
  { tags: "long" },
  async (version) => {
    const { origin } = await start();
    const proxy = await startProxy(origin);
    const tap = await startHttpTap(proxy.url("/mcp"));
    const events: string[] = [];
    const onEvent = ({ type }: { type: string }) => events.push(type);
    const client = await connect(tap.url, { ...ME, protocolVersions: [version], onEvent });
    closing.unshift(
      () => client.close(),
      () => tap.close(),
      () => proxy[Symbol.asyncDispose](),
    );
    const session = tap.exchanges.find(({ responseHeaders }) => responseHeaders["mcp-session-id"])?.responseHeaders;
    // The server takes each step when the client has seen the one before, over a connection that is not cut.
    const pace = (steps: number) => {
      const headers = {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
        "Mcp-Session-Id": session?.["mcp-session-id"] ?? "",
      };
      const params = { name: "pace", arguments: { key: "cut twice", steps } };
      const body = JSON.stringify({ jsonrpc: "2.0", id: `pace ${steps}`, method: "tools/call", params });
      return fetch(`${origin}/mcp`, { method: "POST", headers, body }).then((response) => response.text());
    };
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => {
      seen.push(progress);
      if (progress % 2 === 0) proxy.cut("rst");
      void pace(progress);
    };
    expect(await client.callTool("paced", { key: "cut twice", steps: 5 }, { onProgress })).toMatchObject({
      content: [{ text: "done" }],
    });
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect(events.filter((type) => type === "stream-resumed")).toHaveLength(2);
    tap.oracle.expectClean();
  },
);

test("a stream is refused if the event does not belong to the session", { tags: "long" }, async () => {
  const { origin } = await start();
  const url = `${origin}/mcp`;
  const json = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: ME };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const opened = await fetch(url, { method: "POST", headers: json, body });
  const session = { Accept: "text/event-stream", "Mcp-Session-Id": opened.headers.get("Mcp-Session-Id") ?? "" };
  const response = await fetch(url, { headers: { ...session, "Last-Event-ID": "99-0" } });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("Last-Event-ID")]);
});

describe("the log of a session", () => {
  const gone = () => ({ signal: new AbortController().signal });
  const message = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } } as const;
  const statusOf = (response: Response | undefined) => response?.status;

  test("is sent from the client's last event when the client continues its stream", async () => {
    let left = 0;
    const log = new StreamLog(resolveHttpLimits({}), () => {
      left += 1;
    });
    const first = log.listen(gone(), true).body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await first?.read())?.value).toBe("id: 1-0\ndata:\n\n");
    log.send(message);
    const frame = `event: message\ndata: ${JSON.stringify(message)}\n\n`;
    expect((await first?.read())?.value).toBe(`id: 1-1\n${frame}`);
    expect(log.isConnected).toBe(true);
    await first?.cancel();
    expect([log.isConnected, left]).toEqual([false, 1]);
    log.send(message);
    const second = log.resume("1-1", gone())?.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await second?.read())?.value).toBe(`id: 1-2\n${frame}`);
    log.send(message);
    expect((await second?.read())?.value).toBe(`id: 1-3\n${frame}`);
    log.close();
    expect((await second?.read())?.done).toBe(true);
  });

  test("ends the connection of a client that does not read, which can continue after its last event", async () => {
    const log = new StreamLog(resolveHttpLimits({}), () => undefined, 8 * 1024 * 1024);
    const first = log.listen(gone(), true);
    const uris = Array.from({ length: 40 }, (_, n) => `test://${n}/${"x".repeat(100_000)}`);
    for (const uri of uris) log.send({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } });
    const text = await first.text();
    expect(text.length).toBeLessThan(1_400_000);
    const last = text.match(/(?<=^id: )1-\d+$/gm)?.at(-1) ?? "";
    const second = log.resume(last, gone());
    log.close();
    const told = text + (await second?.text());
    expect(uris.filter((uri) => !told.includes(uri))).toEqual([]);
  });

  test("drops the oldest events when it is full, and refuses to continue before them", () => {
    const log = new StreamLog(resolveHttpLimits({}), () => undefined, 1_000);
    log.listen(gone(), true);
    for (let count = 0; count < 20; count += 1) log.send(message);
    expect(log.resume("1-0", gone())).toBeUndefined();
    expect(statusOf(log.resume("1-19", gone()))).toBe(200);
    expect(statusOf(log.resume("1-20", gone()))).toBe(200);
    expect(log.resume("1-21", gone())).toBeUndefined();
    log.close();
  });

  test.each(["", "1", "1-", "-1", "1-0-0", "01x-0", "1-99999999999", "2-0"])("refuses the event id %j", (id) => {
    const log = new StreamLog(resolveHttpLimits({}), () => undefined);
    log.listen(gone(), true);
    expect(log.resume(id, gone())).toBeUndefined();
    log.close();
  });

  test("removes a stream whose result is larger than the log", async () => {
    const log = new StreamLog(resolveHttpLimits({ jsonWaitMs: 0 }), () => undefined, 100);
    const text = "x".repeat(1_000);
    const run = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return { text, status: 200 };
    };
    const limits = resolveHttpLimits({ jsonWaitMs: 0 });
    const response = await log.respond(run, { form: "either", limits }, true);
    expect(await response.text()).toContain(text);
    expect(log.resume("1-0", gone())).toBeUndefined();
  });
});
