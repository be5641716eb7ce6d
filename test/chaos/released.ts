/**
 * Runs the scripts of disturbances with released clients behind a proxy that breaks connections. These clients can lose
 * event ids, so the rule is weaker: every call ends, with its result or an error. The error may be the client's own
 * timeout.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as Sse1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Client2024 } from "sdk-2024-11-05/client/index.js";
import { SSEClientTransport as Sse2024 } from "sdk-2024-11-05/client/sse.js";
import { Client as Client202503 } from "sdk-2025-03-26/client/index.js";
import { StreamableHTTPClientTransport as Http202503 } from "sdk-2025-03-26/client/streamableHttp.js";
import { Client as Client202506 } from "sdk-2025-06-18/client/index.js";
import { StreamableHTTPClientTransport as Http202506 } from "sdk-2025-06-18/client/streamableHttp.js";
import { startProxy } from "../../src/testing/proxy.ts";
import { isMembers } from "../http/messages.ts";
import { HANG_MS } from "./peer.ts";
import { Random } from "./random.ts";
import type { CallLane, Fault } from "./script.ts";
import { scriptOf } from "./script.ts";
import { Tally } from "./tally.ts";
import type { World } from "./world.ts";

interface AnyClient {
  connect(transport: unknown): Promise<void>;
  callTool(params: object, ...options: unknown[]): Promise<unknown>;
  close(): Promise<void>;
  onerror?: ((error: Error) => void) | undefined;
}

const ME = { name: "chaos", version: "1.0.0" };
const AGAIN = {
  reconnectionOptions: {
    initialReconnectionDelay: 20,
    maxReconnectionDelay: 200,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 20,
  },
};
/** Milliseconds that the clients wait for anything. */
const PATIENCE_MS = 3_000;

type NewClient = readonly [string, () => AnyClient, (url: URL) => unknown];

const CLIENTS: readonly NewClient[] = [
  ["client 2.4", () => new Client2(ME) as unknown as AnyClient, (url) => new Http2(url, AGAIN)],
  ["sdk 1.32", () => new Client1(ME) as unknown as AnyClient, (url) => new Http1(url, AGAIN)],
  ["sdk 1.22", () => new Client202506(ME) as unknown as AnyClient, (url) => new Http202506(url, AGAIN)],
  ["sdk 1.12", () => new Client202503(ME) as unknown as AnyClient, (url) => new Http202503(url, AGAIN)],
  ["sdk 1.32 over HTTP+SSE", () => new Client1(ME) as unknown as AnyClient, (url) => new Sse1(url)],
  ["sdk 1.9 over HTTP+SSE", () => new Client2024(ME) as unknown as AnyClient, (url) => new Sse2024(url)],
];

/** The newest client of each generation of the official SDK. */
export const NEWEST: readonly NewClient[] = CLIENTS.slice(0, 2);

const FAULTS: readonly (readonly [number, Fault | undefined])[] = [
  [3, undefined],
  [1, "kill"],
  [1, "abort"],
  [1, "hibernate"],
];

/** Runs one client with some concurrent calls. */
export async function runReleased(
  seed: number,
  world: World,
  { clients = CLIENTS, faults = FAULTS } = {},
): Promise<Tally> {
  const tally = new Tally();
  tally.count("released");
  const random = new Random(seed);
  const [name, newClient, newTransport] = random.pick(clients.map((each) => [1, each] as const));
  await using proxy = await startProxy(world.origin);
  const client = newClient();
  // Errors of the transport are visible in the calls.
  client.onerror = () => undefined;
  await client.connect(newTransport(new URL(proxy.url("/roomy"))));
  const calls = scriptOf(seed).sessions.flatMap(({ lanes }) => lanes.filter((lane) => lane.kind === "call"));
  const working = calls.map((lane, index) => call(client, `${seed} ${name} ${index}`, lane, tally));
  const how = random.pick([
    [1, "fin"],
    [1, "rst"],
  ] as const);
  if (random.chance(0.7)) proxy.cutAfter(random.size(300, 50_000), how);
  await delay(random.int(10, 300));
  tally.count("cuts", proxy.cut(how));
  const fault = random.pick(faults);
  if (fault) await world.strike(fault, tally);
  await delay(random.int(10, 200));
  proxy.cutAfter(undefined);
  await Promise.all(working);
  await client.close();
  world.leave(await world.homes(), [], `released ${seed}`);
  return tally;
}

async function call(client: AnyClient, key: string, { atMs, steps }: CallLane, tally: Tally): Promise<void> {
  await delay(atMs);
  const unasked = steps.filter(({ kind }) => kind !== "ask");
  const params = { name: "play", arguments: { key, steps: unasked } };
  let progress = 0;
  const onprogress = (heard: { progress: number }) => {
    if (heard.progress <= progress) tally.violate("duplicated", `${key}: progress ${heard.progress} after ${progress}`);
    progress = heard.progress;
  };
  const options = { onprogress, timeout: PATIENCE_MS, resetTimeoutOnProgress: true };
  // Before 2.0, the result schema is the second argument.
  const answer = key.includes("client 2")
    ? client.callTool(params, options)
    : client.callTool(params, undefined, options);
  const late = delay(HANG_MS, "late" as const, { ref: false });
  const outcome = await Promise.race([answer, late]).catch((error: unknown) => error);
  if (outcome === "late") tally.violate("hanging", `${key}: neither a result nor an error`);
  else if (outcome instanceof Error) tally.count(/timed out/i.test(outcome.message) ? "timeouts" : "errors");
  else if (textOf(outcome).startsWith(`${key} `)) tally.count("answers");
  else tally.violate("broken", `${key}: its result is ${JSON.stringify(outcome)}`);
}

function textOf(result: unknown): string {
  const [block] = isMembers(result) && Array.isArray(result.content) ? result.content : [];
  return isMembers(block) ? String(block.text) : "";
}
