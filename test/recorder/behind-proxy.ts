/** An HTTP server that always responds with the same body, behind the recording proxy. */
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, expect } from "vitest";
import { RecordingProxy } from "../../src/node/record/proxy/recording-proxy.ts";
import type { Entry } from "../../src/recorder/entry.ts";
import { Recorder } from "../../src/recorder/recorder.ts";
import { until } from "../../src/testing/until.ts";

export const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

export function createRecorder(contents = true): Recorder {
  return new Recorder({ contents, endpointPath: "/mcp", hash: (text) => text.slice(0, 32).padEnd(16, "0") });
}

/** Starts a server that responds to every request with the same body, behind the proxy. */
export async function start(response: { readonly type: string; readonly body: string }, contents = true) {
  const server = createServer((request, reply) => {
    request.resume().on("end", () => reply.writeHead(200, { "Content-Type": response.type }).end(response.body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: inside } = server.address() as AddressInfo;
  const recorder = createRecorder(contents);
  const proxy = new RecordingProxy({
    recorder,
    connect: () => connect({ host: "127.0.0.1", port: inside, allowHalfOpen: true }),
    inside: (_, reply) => reply.end(),
    hasTail: false,
  });
  const port = await proxy.listen(["127.0.0.1"], 0);
  closers.push(() => Promise.all([proxy.close(), server.close()]));
  return { recorder, port, url: `http://127.0.0.1:${port}/mcp` };
}

/** Sends a body, and returns the entry. */
export async function exchange(
  body: string,
  response: { readonly type: string; readonly body: string },
  contents = true,
): Promise<Entry> {
  const { recorder, url } = await start(response, contents);
  const answer = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  expect(await answer.text()).toBe(response.body);
  await until("the end", () => recorder.summaries()[0]?.outcome !== "running");
  const [entry] = [...recorder.entries()];
  return entry as Entry;
}

export const json = (body: string) => ({ type: "application/json", body });
export const events = (...messages: readonly string[]) => ({
  type: "text/event-stream",
  body: messages.map((each) => `data: ${each}\n\n`).join(""),
});

export const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}';
export const RESULT = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}';
