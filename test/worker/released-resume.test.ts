// @module-tag long
/**
 * Every possible answer to a resume request, with the released clients: for calls that run, that have ended, whose
 * events were dropped, and that are not theirs. A wrong answer makes these clients loop or hang.
 */
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema as Result1 } from "@modelcontextprotocol/sdk/types.js";
import { Client as Client202506 } from "sdk-2025-06-18/client/index.js";
import { StreamableHTTPClientTransport as Http202506 } from "sdk-2025-06-18/client/streamableHttp.js";
import { CallToolResultSchema as Result202506 } from "sdk-2025-06-18/types.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type CuttableProxy, startProxy } from "../../src/testing/index.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { until } from "../http/wire.ts";
import { type Exchange, type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { LegacyClient, ModernClient, readAnswer } from "./client.ts";

const ME = { name: "released", version: "1.0.0" };
/** Reconnects for as long as a restart takes. */
const PATIENT = {
  initialReconnectionDelay: 30,
  maxReconnectionDelay: 30,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 500,
};
const HASTY = { ...PATIENT, maxRetries: 3 };

interface CallOptions {
  readonly onprogress: (progress: { progress: number }) => void;
  readonly onresumptiontoken: (token: string) => void;
  readonly resumptionToken?: string;
  readonly timeout?: number;
}

/** The interface of each release that the tests use. */
interface Released {
  onnotification(hear: (method: string) => void): void;
  onerror(hear: (error: Error) => unknown): void;
  call(name: string, args: object, options: CallOptions): Promise<unknown>;
  close(): Promise<void>;
}

type Reconnection = typeof PATIENT;
type Connect = (url: URL, reconnectionOptions: Reconnection) => Promise<Released>;

interface AnyClient {
  fallbackNotificationHandler?: unknown;
  onerror?: unknown;
  close(): Promise<void>;
}

function released(client: AnyClient, call: Released["call"]): Released {
  return {
    onnotification: (hear) => {
      client.fallbackNotificationHandler = async ({ method }: { method: string }) => hear(method);
    },
    onerror: (hear) => {
      client.onerror = hear;
    },
    call,
    close: () => client.close(),
  };
}

async function connect1(url: URL, reconnectionOptions: Reconnection): Promise<Released> {
  const client = new Client1(ME);
  await client.connect(new Http1(url, { reconnectionOptions }) as never);
  return released(client, (name, args, options) =>
    client.request({ method: "tools/call", params: { name, arguments: { ...args } } }, Result1, options as never),
  );
}

async function connect2(url: URL, reconnectionOptions: Reconnection): Promise<Released> {
  const client = new Client2(ME, { versionNegotiation: { mode: "legacy" } });
  await client.connect(new Http2(url, { reconnectionOptions }));
  return released(client, (name, args, options) =>
    client.request({ method: "tools/call", params: { name, arguments: { ...args } } }, options as never),
  );
}

async function connect202506(url: URL, reconnectionOptions: Reconnection): Promise<Released> {
  const client = new Client202506(ME);
  await client.connect(new Http202506(url, { reconnectionOptions }) as never);
  return released(client, (name, args, options) =>
    client.request({ method: "tools/call", params: { name, arguments: { ...args } } }, Result202506, options as never),
  );
}

/**
 * `comesBack`: whether the client resumes the stream of a cut call by itself. Otherwise the application has to, with
 * the token.
 */
const RELEASES: readonly [name: string, connect: Connect, comesBack: boolean][] = [
  ["sdk 1.32", connect1, true],
  ["client 2.4", connect2, true],
  ["sdk 1.22", connect202506, false],
];

let worker: Workerd;
let tap: HttpTap;
let proxy: CuttableProxy;
const open: Released[] = [];
/** The errors that clients reported for cut streams. */
const cuts: string[] = [];

beforeAll(async () => {
  // The server publishes to the objects of all its endpoints.
  const objects = ["PlainObject", "SmallObject", "BriefObject", "IdleObject", "TeamObject"];
  worker = await Workerd.start({
    entry: "test/worker/fixtures/surviving-sessions.ts",
    objects,
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
beforeEach(() => through("plain"));
afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
  await proxy.close();
  await tap.close();
  tap.oracle.expectClean();
});

/** Starts a proxy that cuts connections and, behind it, a tap that records. */
async function through(endpoint: "plain" | "small"): Promise<void> {
  tap = await startHttpTap(`${worker.origin}/${endpoint}/mcp`);
  proxy = await startProxy(tap.url);
}

/** A client behind the proxy. */
async function connected(connect: Connect, reconnection: Reconnection = PATIENT): Promise<Released> {
  const client = await connect(new URL(proxy.url(new URL(tap.url).pathname)), reconnection);
  open.push(client);
  cuts.length = 0;
  client.onerror(({ message }) => message.includes("disconnected") && cuts.push(message));
  // Some releases do not reopen a GET whose connection was cut before its head had arrived.
  const heard: string[] = [];
  client.onnotification((method) => heard.push(method));
  await until("its GET stream delivers a notification", async () => {
    await change();
    return heard.length > 0;
  });
  return client;
}

let keys = 0;

function newKey(): string {
  keys += 1;
  return `key${keys}`;
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const values = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const release = (key: string) =>
  new ModernClient(`${worker.origin}/plain/mcp`).call("release", { key }).then(readAnswer);
const change = () => new ModernClient(`${worker.origin}/plain/mcp`).call("change").then(readAnswer);
const noted = (key: string, what: string) =>
  until(`${key}: ${what}`, async () => {
    return (await readAnswer(new ModernClient(`${worker.origin}/plain/mcp`).call("noted", { key }))).text === what;
  });

/** A call as an application makes it: it keeps the latest resumption token. */
class Call {
  readonly progress: number[] = [];
  readonly tokens: string[] = [];
  readonly outcome: Promise<{ result: unknown } | { error: Error }>;

  constructor(client: Released, name: string, args: object, options: Partial<CallOptions> = {}) {
    const result = client.call(name, args, {
      onprogress: ({ progress }) => this.progress.push(progress),
      onresumptiontoken: (token) => this.tokens.push(token),
      ...options,
    });
    this.outcome = result.then(
      (result) => ({ result }),
      (error: Error) => ({ error }),
    );
  }

  has(count: number): Promise<void> {
    return until(`${count} events`, () => this.progress.length >= count);
  }
}

/** The GETs that resumed a stream. */
const resumptions = () => tap.exchanges.filter(({ requestHeaders }) => requestHeaders["last-event-id"] !== undefined);
const getStreams = () => tap.exchanges.filter(({ method, status }) => method === "GET" && status === 200);
const cursorsOf = (exchanges: readonly Exchange[]) =>
  exchanges.map(({ requestHeaders }) => requestHeaders["last-event-id"]);
const isAnswered = ({ status }: Exchange) => status !== 0;

/** Waits long enough for a loop to become visible, and returns the client's requests in that time. */
async function requestsOf(client: Released): Promise<Exchange[]> {
  expect(open).toContain(client);
  const before = tap.exchanges.length;
  await pause(1_000);
  return tap.exchanges.slice(before);
}

describe.each(RELEASES)("the released client %s", (_, connect, comesBack) => {
  /** Continues a call whose connection was cut: the client does it, or its application with a new request. */
  async function goOn(client: Released, call: Call, args: object): Promise<Call> {
    if (comesBack) return call;
    // The errors of the call's stream and of the GET stream.
    await until("the client knows of the cut", () => cuts.length >= 2);
    const resumptionToken = call.tokens.at(-1);
    return new Call(client, "count", args, {
      ...(resumptionToken === undefined ? {} : { resumptionToken }),
      onprogress: ({ progress }) => call.progress.push(progress),
    });
  }

  test("resumes a running call whose stream is cut and gets its result, and its progress once and in order", async () => {
    const client = await connected(connect);
    const args = { key: newKey(), before: 3, after: 3 };
    const call = new Call(client, "count", args);
    await call.has(3);
    await noted(args.key, "waiting");
    proxy.cut();
    const rest = await goOn(client, call, args);
    await until("it has come back", () => resumptions().some((each) => isAnswered(each) && isOfCall(each, call)));
    await release(args.key);
    expect(await rest.outcome).toMatchObject({ result: { content: [{ text: args.key }] } });
    expect(call.progress).toEqual(values(1, 6));
  });

  test("gets the result when it resumes a call that ended while it was disconnected", async () => {
    const client = await connected(connect);
    const args = { key: newKey(), before: 2, after: 2 };
    const call = new Call(client, "count", args);
    await call.has(2);
    proxy.refuse(true);
    proxy.cut();
    await release(args.key);
    await noted(args.key, "waiting released");
    proxy.refuse(false);
    const rest = await goOn(client, call, args);
    expect(await rest.outcome).toMatchObject({ result: { content: [{ text: args.key }] } });
    expect(call.progress).toEqual(values(1, 4));
  });

  test("gets the interrupted error of a call that died with workerd once, and stops resuming", async () => {
    const client = await connected(connect);
    const args = { key: newKey(), before: 3, after: 3 };
    const call = new Call(client, "count", args);
    await call.has(3);
    await worker.killAndRestart();
    await goOn(client, call, args);
    // In every release an error has the id of the first request, so that request is the one that ends.
    expect(await call.outcome).toMatchObject({ error: { code: -32603, data: { reason: "interrupted" } } });
    expect(call.progress).toEqual(values(1, 3));
    // One release asks once more after an error, and handles the 405.
    await pause(200);
    expect((await requestsOf(client)).filter((each) => isOfCall(each, call))).toEqual([]);
    expect(resumptions().filter(({ status }) => status === 405).length).toBeLessThanOrEqual(1);
  });

  test("gets 405 after the last event of a call that ended, and stops resuming", async () => {
    const client = await connected(connect);
    const args = { key: newKey(), before: 1 };
    await release(args.key);
    const call = new Call(client, "count", args);
    expect(await call.outcome).toMatchObject({ result: { content: [{ text: args.key }] } });
    const resumptionToken = call.tokens.at(-1) ?? "none";
    const again = new Call(client, "count", args, { resumptionToken, timeout: 1_000 });
    expect(await again.outcome).toMatchObject({ error: expect.any(Error) });
    const asked = resumptions().filter((each) => cursorsOf([each])[0] === resumptionToken);
    expect(asked.map(({ status }) => status)).toEqual([405]);
    expect(again.progress).toEqual([]);
  });

  test("gets 400 for an unknown event id, or an event id of another session, and stops resuming", async () => {
    const client = await connected(connect);
    const errors: Error[] = [];
    client.onerror((error) => errors.push(error));
    const other = await LegacyClient.open(tap.url);
    const key = newKey();
    await release(key);
    const foreign = await readAnswer(other.call("count", { key, before: 1 }, { progressToken: 1 }));
    const [id = "none"] = [...foreign.raw.matchAll(/^id: (.*)$/gm)].map(([, each]) => each);
    for (const resumptionToken of ["garbage", id]) {
      const before = errors.length;
      const call = new Call(client, "count", { key }, { resumptionToken, timeout: 1_000 });
      await until("the client gets the error", () => errors.length > before);
      expect(await call.outcome).toMatchObject({ error: expect.any(Error) });
      const asked = resumptions().filter((each) => cursorsOf([each])[0] === resumptionToken);
      expect(asked.map(({ status }) => status)).toEqual([400]);
    }
  });

  test("gets a warning, the remaining events and the result for an event id whose successors were dropped", async () => {
    await proxy.close();
    await tap.close();
    await through("small");
    const client = await connected(connect);
    const heard: string[] = [];
    client.onnotification((method) => heard.push(method));
    const args = { key: newKey(), before: 100, size: 1_000 };
    await release(args.key);
    const call = new Call(client, "count", args);
    expect(await call.outcome).toMatchObject({ result: {} });
    const [resumptionToken = "none"] = call.tokens;
    const again = new Call(client, "count", args, { resumptionToken, onprogress: () => undefined });
    expect(await again.outcome).toMatchObject({ result: { content: [{ text: args.key }] } });
    expect(heard).toContain("notifications/message");
  });

  test("opens a GET stream that is cut again, and gets notifications from then on", async () => {
    const client = await connected(connect);
    const heard: string[] = [];
    client.onnotification((method) => heard.push(method));
    for (const expected of [2, 3]) {
      proxy.cut();
      await until("it is open again", () => getStreams().length >= expected);
      heard.length = 0;
      await until("it gets a notification", async () => {
        await change();
        return heard.includes("notifications/tools/list_changed");
      });
    }
    expect((await requestsOf(client)).filter(({ method }) => method === "GET")).toEqual([]);
  });

  test("gives up after its retries if its session has ended meanwhile", async () => {
    const client = await connected(connect, HASTY);
    const [first] = tap.exchanges;
    const session = first?.responseHeaders["mcp-session-id"] ?? "";
    expect((await fetch(tap.url, { method: "DELETE", headers: { "mcp-session-id": session } })).status).toBe(204);
    const gone = () => tap.exchanges.filter(({ method, status }) => method === "GET" && status === 404);
    proxy.cut();
    await until("it asks no more", async () => (await requestsOf(client)).length === 0);
    expect(gone().length).toBeLessThanOrEqual(HASTY.maxRetries);
  });

  test("gets the result by polling after the handler has ended the connection, if the release supports it", async () => {
    const client = await connected(connect);
    const args = { key: newKey() };
    const call = new Call(client, "poll", args);
    await noted(args.key, "waiting");
    if (comesBack) await until("it polls", () => resumptions().filter(isAnswered).length > 0);
    await release(args.key);
    expect(await call.outcome).toMatchObject({ result: { content: [{ text: args.key }] } });
    expect((await requestsOf(client)).length).toBe(0);
  });
});

/** Whether a GET resumed the stream of a call. */
function isOfCall(exchange: Exchange, { tokens }: Call): boolean {
  const stream = (id = "") => id.split("-")[1];
  return stream(cursorsOf([exchange])[0]) === stream(tokens.at(-1));
}
