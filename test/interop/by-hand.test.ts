// @module-tag long
/** The same responses without a client library: requests as curl or printf would send them. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HttpTap } from "../oracle/http-tap.ts";
import {
  SACRAMENTO_FORECAST,
  startWeatherCommand,
  startWeatherWorker,
  TEXAS_ALERTS,
  type WeatherCommand,
  type WeatherWorker,
} from "./weather.ts";

const META = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"curl","version":"8"},"io.modelcontextprotocol/clientCapabilities":{}}`;
const ALERTS = `"name":"get_alerts","arguments":{"state":"TX"}`;
const FORECAST = `"name":"get_forecast","arguments":{"latitude":38.581572,"longitude":-121.4944}`;
const CURL = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

interface Answer {
  readonly id?: number;
  readonly result?: {
    readonly resultType?: string;
    readonly content?: readonly { readonly text?: string }[];
    readonly tools?: readonly { readonly name: string; readonly inputSchema: unknown }[];
  };
}

const toolNames = (answer: Answer) => answer.result?.tools?.map(({ name }) => name);
const textOf = (answer: Answer) => answer.result?.content?.map((block) => block.text).join("");

async function post(tap: HttpTap, headers: Record<string, string>, body: string): Promise<Response> {
  return fetch(tap.url, { method: "POST", headers: { ...CURL, ...headers }, body });
}

describe("requests written by hand to the weather template on workerd", () => {
  let weather: WeatherWorker;
  beforeAll(async () => {
    weather = await startWeatherWorker();
  });
  afterAll(() => weather?.stop());

  test("are independent of each other in 2026-07-28", async () => {
    const tap = await weather.tap();
    const send = async (method: string, params: string, headers: Record<string, string> = {}): Promise<Answer> => {
      const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${[META, params].filter(Boolean).join()}}}`;
      const response = await post(
        tap,
        { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, ...headers },
        body,
      );
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
      expect(response.headers.get("mcp-session-id")).toBeNull();
      return (await response.json()) as Answer;
    };
    const discovered = await send("server/discover", "");
    expect(discovered.result).toMatchObject({
      resultType: "complete",
      supportedVersions: expect.arrayContaining(["2026-07-28"]),
    });
    expect(toolNames(await send("tools/list", ""))).toEqual(["get_alerts", "get_forecast", "get_weather"]);
    expect(textOf(await send("tools/call", ALERTS, { "Mcp-Name": "get_alerts" }))).toBe(TEXAS_ALERTS);
    expect(textOf(await send("tools/call", FORECAST, { "Mcp-Name": "get_forecast" }))).toBe(SACRAMENTO_FORECAST);
    tap.oracle.expectClean();
  });

  test.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])(
    "open a session with initialize in %s, which DELETE ends",
    async (version) => {
      const tap = await weather.tap();
      const opened = await post(
        tap,
        {},
        `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"${version}","capabilities":{},"clientInfo":{"name":"curl","version":"8"}}}`,
      );
      expect(await opened.json()).toMatchObject({ id: 0, result: { protocolVersion: version } });
      const session = { "Mcp-Session-Id": opened.headers.get("mcp-session-id") ?? "", "MCP-Protocol-Version": version };
      expect((await post(tap, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)).status).toBe(202);
      const send = async (body: string): Promise<Answer> => {
        const response = await post(tap, session, body);
        expect(response.status).toBe(200);
        return (await response.json()) as Answer;
      };
      expect(toolNames(await send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))).toEqual([
        "get_alerts",
        "get_forecast",
        "get_weather",
      ]);
      expect(textOf(await send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{${ALERTS}}}`))).toBe(
        TEXAS_ALERTS,
      );
      expect(textOf(await send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{${FORECAST}}}`))).toBe(
        SACRAMENTO_FORECAST,
      );
      const ended = await fetch(tap.url, { method: "DELETE", headers: session });
      expect([200, 204]).toContain(ended.status);
      expect((await post(tap, session, `{"jsonrpc":"2.0","id":4,"method":"ping"}`)).status).toBe(404);
      tap.oracle.expectClean();
    },
  );

  test("get a tool list that describes each argument and its valid values", async () => {
    const tap = await weather.tap();
    const response = await post(
      tap,
      { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list" },
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{${META}}}`,
    );
    const { result } = (await response.json()) as Answer;
    expect(result?.tools?.map(({ inputSchema }) => inputSchema)).toMatchObject([
      {
        type: "object",
        properties: { state: { type: "string", pattern: "^[A-Za-z]{2}$", description: expect.any(String) } },
        required: ["state"],
      },
      {
        type: "object",
        properties: {
          latitude: { type: "number", minimum: -90, maximum: 90, description: expect.any(String) },
          longitude: { type: "number", minimum: -180, maximum: 180, description: expect.any(String) },
        },
        required: ["latitude", "longitude"],
      },
      {
        type: "object",
        properties: {
          city: { type: "string", minLength: 1, description: expect.any(String) },
          unit: { enum: ["celsius", "fahrenheit"], default: "celsius", description: expect.any(String) },
        },
        required: ["city"],
      },
    ]);
    tap.oracle.expectClean();
  });
});

describe("lines that are piped into the weather template", () => {
  let weather: WeatherCommand;
  beforeAll(async () => {
    weather = await startWeatherCommand();
  });
  afterAll(() => weather?.stop());

  /** `printf '%s\n' ... | node templates/weather/src/stdio.ts` */
  async function pipe(lines: readonly string[]): Promise<{ readonly code: number | null; readonly answers: Answer[] }> {
    const { command, args, expectClean } = weather.command();
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    const code = new Promise<number | null>((resolve) => child.on("close", resolve));
    child.stdin.end(lines.map((line) => `${line}\n`).join(""));
    const printed = await text(child.stdout);
    const ended = { code: await code, answers: [] };
    await expectClean();
    expect(printed.endsWith("\n")).toBe(true);
    return {
      ...ended,
      answers: printed
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Answer),
    };
  }

  // A call takes longer than reading the input; its response still arrives before the end.
  test("print three responses for ping, tools/list and tools/call without initialize, and the exit code is 0", async () => {
    const { code, answers } = await pipe([
      `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
      `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
      `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{${ALERTS}}}`,
    ]);
    expect(code).toBe(0);
    expect(answers).toHaveLength(3);
    const byId = new Map(answers.map((answer) => [answer.id, answer]));
    expect(byId.get(1)).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
    expect(toolNames(byId.get(2) ?? {})).toEqual(["get_alerts", "get_forecast", "get_weather"]);
    expect(textOf(byId.get(3) ?? {})).toBe(TEXAS_ALERTS);
  });

  test("call both tools in 2026-07-28, and the exit code is 0", async () => {
    const { code, answers } = await pipe([
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${META},${ALERTS}}}`,
      `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{${META},${FORECAST}}}`,
    ]);
    expect(code).toBe(0);
    const byId = new Map(answers.map((answer) => [answer.id, answer]));
    expect(byId.get(1)?.result?.resultType).toBe("complete");
    expect(textOf(byId.get(1) ?? {})).toBe(TEXAS_ALERTS);
    expect(textOf(byId.get(2) ?? {})).toBe(SACRAMENTO_FORECAST);
  });
});
