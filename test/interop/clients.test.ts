// @module-tag long
/** The official clients against the weather template: on workerd over HTTP, and as a command over stdio. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { startHttpTap } from "../oracle/http-tap.ts";
import { type Connected, HTTP_PEERS, type Peer, STDIO_PEERS } from "./peers.ts";
import {
  SACRAMENTO,
  SACRAMENTO_FORECAST,
  startWeatherCommand,
  startWeatherWorker,
  TEXAS_ALERTS,
  type WeatherCommand,
  type WeatherWorker,
} from "./weather.ts";

const MODERN = "2026-07-28";

/** Vitest quotes values of objects in titles, so the name is a separate cell. */
function named<Target>(peer: Peer<Target>): [name: string, peer: Peer<Target>] {
  return [`${peer.name} speaks ${peer.version}, lists the tools and calls two`, peer];
}

/** The clients that open sessions, and so a stream. */
const LEGACY_HTTP_PEERS = HTTP_PEERS.filter(({ version }) => version < MODERN).map(
  (peer): [name: string, peer: Peer<URL>] => [peer.name, peer],
);

const WITHOUT_NOTICES = `
import { McpServer } from "./src/core/index.ts";
import { edge } from "./src/worker/index.ts";
import { sessions } from "./src/worker/sessions/index.ts";
const server = new McpServer({ name: "without notifications", version: "1.0.0" });
server.tool("plain", {}, () => "done");
const app = edge(server, { use: [sessions()] });
export default app;
export const { McpObject } = app;
`;

/** Lists the tools and calls two of them. Every client does this, over any transport. */
async function useTools({ client }: Connected): Promise<void> {
  expect(client.getServerVersion()).toMatchObject({ name: "weather", version: "1.0.0" });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["get_alerts", "get_forecast", "get_weather"]);
  const alerts = await client.callTool({ name: "get_alerts", arguments: { state: "TX" } });
  expect(alerts).toMatchObject({ content: [{ type: "text", text: TEXAS_ALERTS }] });
  const forecast = await client.callTool({ name: "get_forecast", arguments: SACRAMENTO });
  expect(forecast).toMatchObject({ content: [{ type: "text", text: SACRAMENTO_FORECAST }] });
}

describe("the weather template on workerd", () => {
  let weather: WeatherWorker;
  beforeAll(async () => {
    weather = await startWeatherWorker();
  });
  afterAll(() => weather?.stop());

  test.each(HTTP_PEERS.map(named))("%s", async (_, { version, connect }) => {
    const tap = await weather.tap();
    const connected = await connect(new URL(tap.url));
    expect(connected.initialized).toBe(version === MODERN ? undefined : version);
    expect(connected.sessionId === undefined).toBe(version === MODERN);
    await useTools(connected);
    const { sessionId } = connected;
    await connected.end();
    tap.oracle.expectClean();
    const methods = tap.exchanges.map(({ method, status }) => `${method} ${status}`);
    if (sessionId === undefined) {
      expect(new Set(methods)).toEqual(new Set(["POST 200"]));
      expect(new Set(tap.exchanges.map((each) => each.requestHeaders["mcp-protocol-version"]))).toEqual(
        new Set([MODERN]),
      );
      return;
    }
    expect(tap.oracle.agreedVersion(sessionId)).toBe(version);
    expect(methods.at(-1)).toMatch(/^DELETE 20[04]$/);
    const after = await fetch(tap.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": sessionId,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
    expect(after.status).toBe(404);
  });
});

describe("a server without notifications, which sends nothing outside of calls,", () => {
  let worker: Workerd;
  beforeAll(async () => {
    worker = await Workerd.start({
      entry: { source: WITHOUT_NOTICES },
      objects: ["McpObject"],
      bindings: { MCP_KEYS: newKeys() },
    });
  });
  afterAll(() => worker?.stop());

  test.each(LEGACY_HTTP_PEERS)("returns 405 for the GET of %s, which continues", async (_, { connect }) => {
    const tap = await startHttpTap(`${worker.origin}/mcp`);
    const { client, end } = await connect(new URL(tap.url));
    const answers = () => tap.exchanges.filter(({ method }) => method === "GET").map(({ status }) => status);
    await expect.poll(answers).toEqual([405]);
    expect(await client.listTools()).toMatchObject({ tools: [{ name: "plain" }] });
    const called = await client.callTool({ name: "plain", arguments: {} });
    expect(called).toMatchObject({ content: [{ type: "text", text: "done" }] });
    await end();
    expect(answers()).toEqual([405]);
    await tap.close();
    tap.oracle.expectClean();
  });
});

describe("the weather template over stdio", () => {
  let weather: WeatherCommand;
  beforeAll(async () => {
    weather = await startWeatherCommand();
  });
  afterAll(() => weather?.stop());

  test.each(STDIO_PEERS.map(named))("%s", async (_, { version, connect }) => {
    const command = weather.command();
    const connected = await connect(command);
    expect(connected.initialized).toBe(version === MODERN ? undefined : version);
    await useTools(connected);
    await connected.end();
    await command.expectClean();
  });
});
