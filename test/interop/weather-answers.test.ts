// @module-tag long
/**
 * The answers of both tools when the API answers well, oddly or not at all. The same tests run on workerd and on Node.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { activeAlerts } from "../../templates/weather/src/nws.ts";
import { expectLogs } from "../harness/logs.ts";
import {
  alert,
  alerts,
  forecast,
  geoJson,
  point,
  problem,
  WEATHER_API,
  type WeatherApi,
} from "../harness/weather-api.ts";
import type { HttpTap } from "../oracle/http-tap.ts";
import {
  SACRAMENTO_FORECAST,
  startWeatherCommand,
  startWeatherWorker,
  TEXAS_ALERTS,
  type WeatherCommand,
  type WeatherWorker,
} from "./weather.ts";

expectLogs(/^weather: the National Weather Service (returned|could not be read)/);

interface Said {
  readonly text: string;
  readonly isError: boolean;
}

type CallTool = (name: string, args: object) => Promise<Said>;

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

function request(name: string, args: object, id = 1): string {
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { _meta: META, name, arguments: args },
  });
}

function said(answer: unknown): Said {
  const { result } = answer as { result: { content: { text: string }[]; isError?: boolean } };
  return { text: result.content.map((block) => block.text).join(""), isError: result.isError === true };
}

const broken = () => problem(500, "Unexpected Problem", "An unexpected problem has occurred.");
const SACRAMENTO_POINT = "/points/38.5816,-121.4944";

/** The cases: each case prepares the API and has the expected result. */
function answersOfBothTools(setup: () => { api: WeatherApi; call: CallTool }): void {
  test("alerts show event, area, severity, description and instructions, separated by a line ---", async () => {
    const { api, call } = setup();
    expect(await call("get_alerts", { state: "TX" })).toEqual({ text: TEXAS_ALERTS, isError: false });
    expect(api.asked.at(-1)).toEqual({
      url: `${WEATHER_API}/alerts/active/area/TX`,
      userAgent: "weather-app/1.0",
      accept: "application/geo+json",
    });
  });

  test("a state in lower case is requested in upper case", async () => {
    const { api, call } = setup();
    expect(await call("get_alerts", { state: "tx" })).toEqual({ text: TEXAS_ALERTS, isError: false });
    expect(api.asked.at(-1)?.url).toBe(`${WEATHER_API}/alerts/active/area/TX`);
  });

  test.each([
    ["null", { event: null, areaDesc: null, severity: null, description: null, instruction: null }],
    [
      "missing",
      { event: undefined, areaDesc: undefined, severity: undefined, description: undefined, instruction: undefined },
    ],
    ["empty", { event: "", areaDesc: "", severity: "", description: "", instruction: "" }],
    ["of another kind", { event: 7, areaDesc: [], severity: {}, description: false, instruction: 0 }],
  ])("members of an alert that are %s are shown as Unknown or a sentence", async (_, properties) => {
    const { api, call } = setup();
    api.on("/alerts/active/area/NV", () => geoJson(alerts("Nevada", [alert(properties)])));
    expect(await call("get_alerts", { state: "NV" })).toEqual({
      text: [
        "Event: Unknown",
        "Area: Unknown",
        "Severity: Unknown",
        "Description: No description is available.",
        "Instructions: No specific instructions are given.",
      ].join("\n"),
      isError: false,
    });
  });

  test("a state without alerts gets a sentence about it", async () => {
    const { call } = setup();
    expect(await call("get_alerts", { state: "WY" })).toEqual({
      text: "There are no active alerts for WY.",
      isError: false,
    });
  });

  test.each<[string, () => Response]>([
    ["responds with 500", broken],
    ["responds with 404", () => problem(404, "Not Found", "Not Found")],
    [
      "responds with HTML",
      () => new Response("<html>Maintenance</html>", { headers: { "content-type": "text/html" } }),
    ],
    ["responds with JSON of another shape", () => geoJson({ features: null })],
    ["responds without a body", () => new Response(null, { status: 204 })],
  ])("the result says that alerts could not be fetched if the API %s", async (_, answer) => {
    const { api, call } = setup();
    api.on("/alerts/active/area/OK", answer);
    expect(await call("get_alerts", { state: "OK" })).toEqual({
      text: "The alerts for OK could not be fetched.",
      isError: false,
    });
  });

  test("two letters that are not a state are requested, and the result says that the alerts could not be fetched", async () => {
    const { call } = setup();
    expect(await call("get_alerts", { state: "ZZ" })).toEqual({
      text: "The alerts for ZZ could not be fetched.",
      isError: false,
    });
  });

  test.each([
    ["get_alerts", { state: "Texas" }, "state"],
    ["get_alerts", { state: "TEX" }, "state"],
    ["get_alerts", { state: "T" }, "state"],
    ["get_alerts", { state: "T1" }, "state"],
    ["get_alerts", { state: "TX\n" }, "state"],
    ["get_alerts", {}, "state"],
    ["get_forecast", { latitude: 91, longitude: 0 }, "latitude"],
    ["get_forecast", { latitude: -90.0001, longitude: 0 }, "latitude"],
    ["get_forecast", { latitude: 0, longitude: 180.5 }, "longitude"],
    ["get_forecast", { latitude: "38.5816", longitude: -121.4944 }, "latitude"],
    ["get_forecast", { latitude: 38.5816 }, "longitude"],
  ])("%s of %j names the invalid argument, and sends no request", async (name, args, argument) => {
    const { api, call } = setup();
    const before = api.asked.length;
    const { text: words, isError } = await call(name, args);
    expect(isError).toBe(true);
    expect(words).toContain(`${argument}:`);
    expect(api.asked.length).toBe(before);
  });

  test("a forecast shows five of fourteen periods", async () => {
    const { api, call } = setup();
    const before = api.asked.length;
    expect(await call("get_forecast", { latitude: 38.5816, longitude: -121.4944 })).toEqual({
      text: SACRAMENTO_FORECAST,
      isError: false,
    });
    const headers = { userAgent: "weather-app/1.0", accept: "application/geo+json" };
    expect(api.asked.slice(before)).toEqual([
      { url: `${WEATHER_API}${SACRAMENTO_POINT}`, ...headers },
      { url: `${WEATHER_API}/gridpoints/STO/41,68/forecast`, ...headers },
    ]);
  });

  test("coordinates are requested with four decimals and no trailing zeros, so that nothing is redirected", async () => {
    const { api, call } = setup();
    const before = api.asked.length;
    await call("get_forecast", { latitude: 38.58164999, longitude: -121.49435001 });
    await call("get_forecast", { latitude: 40.10000001, longitude: -0.00001 });
    expect(api.asked.slice(before).map(({ url }) => url)).toEqual([
      `${WEATHER_API}${SACRAMENTO_POINT}`,
      `${WEATHER_API}/gridpoints/STO/41,68/forecast`,
      `${WEATHER_API}/points/40.1,0`,
    ]);
  });

  test("redirects are followed, with the same headers", async () => {
    const { api, call } = setup();
    const moved = (location: string) => () => problem(301, "Moved", "Moved", { location });
    api.on("/points/36.1,-115.1", moved("/points/36.1001,-115.1001"));
    api.on("/points/36.1001,-115.1001", () => geoJson(point(`${WEATHER_API}/gridpoints/VEF/1,1/forecast`)));
    api.on("/gridpoints/VEF/1,1/forecast", moved(`${WEATHER_API}/gridpoints/STO/41,68/forecast`));
    const before = api.asked.length;
    expect(await call("get_forecast", { latitude: 36.1, longitude: -115.1 })).toEqual({
      text: SACRAMENTO_FORECAST,
      isError: false,
    });
    const asked = api.asked.slice(before);
    expect(asked).toHaveLength(4);
    expect(new Set(asked.map(({ userAgent, accept }) => `${userAgent} ${accept}`))).toEqual(
      new Set(["weather-app/1.0 application/geo+json"]),
    );
  });

  test("members of a period that are null or missing are shown as Unknown or a sentence", async () => {
    const { api, call } = setup();
    api.on("/points/10,10", () => geoJson(point(`${WEATHER_API}/gridpoints/GUM/10,10/forecast`)));
    const nothing = { name: null, temperature: null, windSpeed: null, windDirection: undefined, detailedForecast: "" };
    api.on("/gridpoints/GUM/10,10/forecast", () => geoJson(forecast(nothing, [["", 0, "", "", ""]])));
    expect(await call("get_forecast", { latitude: 10, longitude: 10 })).toEqual({
      text: "Unknown:\nTemperature: Unknown\nWind: Unknown\nForecast: No details are available.",
      isError: false,
    });
  });

  test.each<[string, { latitude: number; longitude: number }, (api: WeatherApi) => void]>([
    ["outside the country", { latitude: 51.5072, longitude: -0.1276 }, () => {}],
    ["at a pole", { latitude: 90, longitude: -180 }, () => {}],
    [
      "at sea, where a point names no forecast",
      { latitude: 30, longitude: -70 },
      (api) => api.on("/points/30,-70", () => geoJson(point(null))),
    ],
    [
      "where the forecast is not found",
      { latitude: 29, longitude: -71 },
      (api) => {
        api.on("/points/29,-71", () => geoJson(point(`${WEATHER_API}/gridpoints/AMZ/1,1/forecast`)));
        api.on("/gridpoints/AMZ/1,1/forecast", () => problem(404, "Marine Forecast Not Supported", "Not supported"));
      },
    ],
    [
      "where the forecast has no periods",
      { latitude: 28, longitude: -72 },
      (api) => {
        api.on("/points/28,-72", () => geoJson(point(`${WEATHER_API}/gridpoints/AMZ/2,2/forecast`)));
        api.on("/gridpoints/AMZ/2,2/forecast", () => geoJson(forecast({}, [])));
      },
    ],
  ])("the result says that there is no forecast for a place %s", async (_, place, prepare) => {
    const { api, call } = setup();
    prepare(api);
    const { latitude, longitude } = place;
    expect(await call("get_forecast", place)).toEqual({
      text: `There is no forecast for ${latitude}, ${longitude}: the National Weather Service covers only the United States.`,
      isError: false,
    });
  });

  test.each<[string, number, (api: WeatherApi) => void]>([
    ["the point cannot be fetched", 21, (api) => api.on("/points/21,-150", broken)],
    [
      "the forecast cannot be fetched",
      22,
      (api) => {
        api.on("/points/22,-150", () => geoJson(point(`${WEATHER_API}/gridpoints/HFO/22,22/forecast`)));
        api.on("/gridpoints/HFO/22,22/forecast", broken);
      },
    ],
    [
      "the forecast is not JSON",
      23,
      (api) => {
        api.on("/points/23,-150", () => geoJson(point(`${WEATHER_API}/gridpoints/HFO/23,23/forecast`)));
        api.on("/gridpoints/HFO/23,23/forecast", () => new Response("upstream timeout"));
      },
    ],
    [
      "redirects form a loop",
      24,
      (api) => api.on("/points/24,-150", () => problem(301, "Moved", "Moved", { location: "/points/24,-150" })),
    ],
  ])("the result says that the forecast could not be fetched when %s", async (_, latitude, prepare) => {
    const { api, call } = setup();
    prepare(api);
    expect(await call("get_forecast", { latitude, longitude: -150 })).toEqual({
      text: `The forecast for ${latitude}, -150 could not be fetched.`,
      isError: false,
    });
  });

  test.each([
    ["another host", 31, "https://weather.example/forecast"],
    ["a host with the same beginning", 32, "https://api.weather.gov.evil.example/forecast"],
    ["the API's name as a user name", 33, "https://api.weather.gov@evil.example/forecast"],
    ["another port", 34, "https://api.weather.gov:8443/forecast"],
    ["plain http", 35, "http://api.weather.gov/gridpoints/STO/41,68/forecast"],
    ["not a URL", 36, "/gridpoints/STO/41,68/forecast"],
  ])("a forecast URL of %s is never fetched", async (_, latitude, url) => {
    const { api, call } = setup();
    api.on(`/points/${latitude},-150`, () => geoJson(point(url)));
    const before = api.asked.length;
    expect(await call("get_forecast", { latitude, longitude: -150 })).toEqual({
      text: `The forecast for ${latitude}, -150 could not be fetched.`,
      isError: false,
    });
    expect(api.asked.slice(before).map((asked) => asked.url)).toEqual([`${WEATHER_API}/points/${latitude},-150`]);
  });
}

describe("the weather template on workerd", () => {
  let weather: WeatherWorker;
  let tap: HttpTap;
  beforeAll(async () => {
    weather = await startWeatherWorker();
    tap = await weather.tap();
  });
  afterAll(async () => {
    await weather?.stop();
    tap.oracle.expectClean();
  });

  async function call(name: string, args: object): Promise<Said> {
    const response = await fetch(tap.url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": name,
      },
      body: request(name, args),
    });
    expect(response.status).toBe(200);
    return said(await response.json());
  }

  answersOfBothTools(() => ({ api: weather.api, call }));
});

describe("the weather template over stdio", () => {
  let weather: WeatherCommand;
  let command: ReturnType<WeatherCommand["command"]>;
  let child: ChildProcess;
  const answered = new Map<number, (answer: unknown) => void>();
  beforeAll(async () => {
    weather = await startWeatherCommand();
    command = weather.command();
    const spawned = spawn(command.command, command.args, { stdio: ["pipe", "pipe", "ignore"] });
    createInterface({ input: spawned.stdout }).on("line", (line) => {
      const answer = JSON.parse(line) as { id: number };
      answered.get(answer.id)?.(answer);
    });
    child = spawned;
  });
  afterAll(async () => {
    child.stdin?.end();
    await command.expectClean();
    await weather.stop();
  });

  async function call(name: string, args: object): Promise<Said> {
    const id = answered.size + 1;
    const answer = new Promise((resolve) => answered.set(id, resolve));
    child.stdin?.write(`${request(name, args, id)}\n`);
    return said(await answer);
  }

  answersOfBothTools(() => ({ api: weather.api, call }));
});

describe("a request to the API", () => {
  test("is aborted after 30 seconds", async () => {
    vi.useFakeTimers();
    const log = vi.spyOn(console, "error").mockReturnValue();
    const silent = (_: unknown, { signal }: RequestInit = {}) =>
      new Promise<Response>((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
      });
    vi.spyOn(globalThis, "fetch").mockImplementation(silent);
    try {
      const answered = vi.fn();
      const answer = activeAlerts("TX", new AbortController().signal).then(answered);
      await vi.advanceTimersByTimeAsync(29_999);
      expect(answered).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      await answer;
      expect(answered).toHaveBeenCalledExactlyOnceWith(undefined);
      expect(log).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("30000 ms"));
    } finally {
      vi.useRealTimers();
      vi.restoreAllMocks();
    }
  });
});
