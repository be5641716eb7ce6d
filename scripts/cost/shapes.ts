/** The shapes of use whose costs are counted, replayed against any endpoint. */
import { setTimeout as pause } from "node:timers/promises";
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { openStream } from "../../src/testing/http-stream.ts";
import type { Billed } from "./counted-worker.ts";

/** How long a stream is held, in milliseconds. It exceeds the time until objects hibernate, and the interval of heartbeats. */
const HOLD_MS = 27_000;
/** The number of times per day that Cloudflare's edge cuts a stream without heartbeats: about every five minutes. */
const CUTS_A_DAY = (24 * 60) / 5;

/** The observations about a GET stream. */
export interface Held {
  /** Whether the server refused the stream. */
  readonly isRefused: boolean;
  /** Whether the object stays in memory, and is billed, for as long as the stream is open. */
  readonly isAwake: boolean;
  /** The number of times per day that a client has to open it. */
  readonly openings: number;
}

/** The counts of one shape. */
export interface Counted extends Billed {
  readonly held?: Held;
}

/** The running server whose costs are counted. */
export interface Counting {
  readonly url: string;
  /** Returns the counts since the previous call. */
  take(): Promise<Billed>;
  /** Moves the clock ahead until sessions have expired, and runs the alarms. */
  expire(): Promise<void>;
}

/** Runs a shape. Returns counts only if they are not the counts since the previous `take`. */
type Run = (counting: Counting) => Promise<Counted | undefined>;

/** The shapes of use, each with its description in the document. */
export const SHAPES: readonly { readonly what: string; readonly run: Run }[] = [
  { what: "connect and list, raw client of 2025-11-25", run: rawList },
  { what: "the same, official SDK 1.32 (2025-11-25)", run: sdk1List },
  { what: "the same, official client 2.4 (2026-07-28 if the server speaks it)", run: sdk2List },
  { what: "connect and make ten calls", run: tenCalls },
  { what: "connect and make a call with 1,000 progress notifications", run: progress },
  { what: "connect and hold a GET stream all day", run: hold },
];

/** Replays every shape once and returns the counts by shape. */
export async function countShapes(counting: Counting): Promise<Record<string, Counted>> {
  // Work that an isolate does only once, such as reading the sealing keys, is not a cost of a session.
  await rawList(counting);
  await settled(counting);
  const counts: Record<string, Counted> = {};
  for (const { what, run } of SHAPES) {
    const found = await run(counting);
    const used = await settled(counting);
    await counting.expire();
    // Running the alarms from outside reads the storage of every object, which is not a cost of the session.
    const ended = { ...(await settled(counting)), requests: 0, wakes: 0, rowsRead: 0 };
    const total = summed(used, ended);
    counts[what] = found ? { ...summed(found, total), ...(found.held && { held: found.held }) } : total;
  }
  return counts;
}

/** Returns the counts when nothing has changed for a while: a server may still be closing streams. */
async function settled({ take }: Counting): Promise<Billed> {
  let total = await take();
  for (let quiet = 0; quiet < 3; ) {
    await pause(100);
    const more = await take();
    quiet = Object.values(more).some((each) => each > 0) ? 0 : quiet + 1;
    total = summed(total, more);
  }
  return total;
}

function summed(one: Billed, other: Billed): Billed {
  const { held: _, ...counts } = one as Counted;
  const keys = Object.keys(counts) as (keyof Billed)[];
  return Object.fromEntries(keys.map((key) => [key, one[key] + other[key]])) as unknown as Billed;
}

const ME = { name: "cost", version: "1.0.0" };

class Raw {
  readonly #url: string;
  #headers: Record<string, string> = {};

  private constructor(url: string) {
    this.#url = url;
  }

  static async connect(url: string): Promise<Raw> {
    const raw = new Raw(url);
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: ME };
    const opened = await raw.send({ id: 0, method: "initialize", params });
    const id = opened.headers["mcp-session-id"];
    raw.#headers = { "MCP-Protocol-Version": "2025-11-25", ...(id === undefined ? {} : { "Mcp-Session-Id": id }) };
    await raw.send({ method: "notifications/initialized" });
    return raw;
  }

  async send(message: object) {
    const answer = await openStream(this.#url, { body: { jsonrpc: "2.0", ...message }, headers: this.#headers });
    await answer.end({ timeoutMs: 60_000 });
    if (answer.status >= 300) throw new Error(`${JSON.stringify(message)} was answered with ${answer.status}`);
    return answer;
  }

  call(name: string, args: object) {
    const params = { name, arguments: args, _meta: { progressToken: 1 } };
    return this.send({ id: 1, method: "tools/call", params });
  }

  get() {
    return openStream(this.#url, { headers: this.#headers });
  }
}

async function rawList({ url }: Counting): Promise<undefined> {
  const raw = await Raw.connect(url);
  await raw.send({ id: 1, method: "tools/list" });
}

async function sdk1List({ url }: Counting): Promise<undefined> {
  const client = new Client1(ME);
  // Its types and those of its transport disagree about optional properties.
  await client.connect(new Http1(new URL(url)) as Parameters<Client1["connect"]>[0]);
  await client.listTools();
  // It opens a GET stream in the background.
  await pause(500);
  await client.close();
}

async function sdk2List({ url }: Counting): Promise<undefined> {
  const client = new Client2(ME, { versionNegotiation: { mode: "auto" } });
  await client.connect(new Http2(new URL(url)));
  await client.listTools();
  await pause(500);
  await client.close();
}

async function tenCalls({ url }: Counting): Promise<undefined> {
  const raw = await Raw.connect(url);
  for (let call = 0; call < 10; call += 1) await raw.call("forecast_00", { city: "Oslo", days: 3 });
}

async function progress({ url }: Counting): Promise<undefined> {
  const raw = await Raw.connect(url);
  const answer = await raw.call("emit", { count: 1_000 });
  const heard = answer.raw.match(/notifications\/progress/g)?.length;
  if (heard !== 1_000) throw new Error(`The call sent ${heard} progress notifications.`);
}

/**
 * Opens a stream and holds it until its object can hibernate; then a ping shows whether it did. The counts are those of a
 * day: a stream without heartbeats is opened again each time it is cut.
 */
async function hold({ url, take }: Counting): Promise<Counted> {
  const raw = await Raw.connect(url);
  const connected = await take();
  const stream = await raw.get();
  await pause(stream.status === 200 ? 1_000 : 0);
  const { bytes } = stream;
  await pause(stream.status === 200 ? HOLD_MS : 0);
  const opened = await take();
  if (stream.status !== 200) {
    return { ...summed(connected, opened), held: { isRefused: true, isAwake: false, openings: 1 } };
  }
  if (stream.ended !== undefined) throw new Error("The GET stream ended by itself.");
  await raw.send({ id: 1, method: "ping" });
  const { wakes } = await take();
  // Any data that arrives on an idle stream keeps it from being cut.
  const openings = stream.bytes > bytes ? 1 : CUTS_A_DAY;
  stream.cut();
  let counts = connected;
  for (let opening = 0; opening < openings; opening += 1) counts = summed(counts, opened);
  return { ...counts, held: { isRefused: false, isAwake: wakes === 0, openings } };
}
