/** Tests the Worker on real workerd. The responses of the weather services are defined here, so no test needs a network. */
import { connect } from "mcp-edge/client";
import { startWorker, type TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

const API = "https://api.weather.gov";
const SACRAMENTO = { latitude: 38.581572, longitude: -121.4944 };

/** The responses of the National Weather Service, by path. All other paths return "404 Not Found", as the real service does. */
const ANSWERS: Record<string, object> = {
  "/alerts/active/area/TX": {
    features: [
      {
        properties: {
          event: "Flood Watch",
          areaDesc: "Travis, TX",
          severity: "Severe",
          description: "Flooding is possible.",
          instruction: null,
        },
      },
    ],
  },
  "/alerts/active/area/CA": { features: [] },
  "/points/38.5816,-121.4944": { properties: { forecast: `${API}/gridpoints/STO/41,68/forecast` } },
  "/points/1,1": { properties: { forecast: "https://example.com/forecast" } },
  "/gridpoints/STO/41,68/forecast": {
    properties: {
      periods: [
        {
          name: "Tonight",
          temperature: 51,
          temperatureUnit: "F",
          windSpeed: "5 mph",
          windDirection: "S",
          detailedForecast: "Clear.",
        },
      ],
    },
  },
};

/** The responses of Open-Meteo, by the first parameter. */
const BERLIN = { results: [{ name: "Berlin", country: "Germany", latitude: 52.52, longitude: 13.41 }] };
const CURRENT = { current: { temperature_2m: 53.1, relative_humidity_2m: 71, weather_code: 63 } };
const OPEN_METEO: Record<string, object> = {
  "https://geocoding-api.open-meteo.com/v1/search?name=Berlin": BERLIN,
  "https://geocoding-api.open-meteo.com/v1/search?name=Atlantis": {},
  "https://api.open-meteo.com/v1/forecast?latitude=52.52": CURRENT,
};

let asked: string[];
let worker: TestWorker;
beforeAll(async () => {
  const outbound = ({ url }: Request) => {
    asked.push(url);
    const found = ANSWERS[url.replace(API, "")] ?? OPEN_METEO[url.split("&")[0] ?? ""];
    return found ? Response.json(found) : new Response("not found", { status: 404 });
  };
  worker = await startWorker({ wrangler: "wrangler.toml", outbound });
});
beforeEach(() => {
  asked = [];
});
afterAll(() => worker?.stop());

const open = (protocolVersions: readonly string[] = ["2026-07-28"]) =>
  connect(worker.url("/mcp"), { name: "test", version: "1.0.0", protocolVersions });

/** Calls a tool. Returns the text of its result. */
async function call(tool: string, args: Record<string, unknown>): Promise<string> {
  const client = await open();
  const { content } = await client.callTool(tool, args);
  await client.close();
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

test("lists its tools, which are read-only", async () => {
  const client = await open();
  const names = ["get_alerts", "get_forecast", "get_weather"];
  // You may have added other tools.
  const tools = (await client.tools().all()).filter(({ name }) => names.includes(name));
  expect(tools.map(({ name }) => name)).toEqual(names);
  expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).toEqual([true, true, true]);
  await client.close();
});

test("get_weather returns the temperature in the requested unit, and the humidity", async () => {
  const client = await open();
  const { structuredContent } = await client.callTool("get_weather", { city: "Berlin", unit: "fahrenheit" });
  await client.close();
  expect(structuredContent).toEqual({
    city: "Berlin, Germany",
    temperature: 53.1,
    unit: "fahrenheit",
    humidity: 71,
    conditions: "rain",
  });
  expect(asked[1]).toContain("temperature_unit=fahrenheit");
});

test("get_weather reports that a city does not exist, or that the service does not respond", async () => {
  expect(await call("get_weather", { city: "Atlantis" })).toContain("There is no such city");
  expect(await call("get_weather", { city: "Nowhere" })).toContain("could not be fetched");
});

test("get_alerts describes each alert, and names missing values", async () => {
  expect(await call("get_alerts", { state: "tx" })).toBe(
    [
      "Event: Flood Watch",
      "Area: Travis, TX",
      "Severity: Severe",
      "Description: Flooding is possible.",
      "Instructions: No specific instructions are given.",
    ].join("\n"),
  );
  expect(await call("get_alerts", { state: "CA" })).toBe("There are no active alerts for CA.");
});

test("get_forecast rounds the coordinates as the service requires", async () => {
  expect(await call("get_forecast", SACRAMENTO)).toContain("Temperature: 51°F");
  expect(asked[0]).toBe(`${API}/points/38.5816,-121.4944`);
});

test("get_forecast reports that a place has no forecast", async () => {
  expect(await call("get_forecast", { latitude: 52.5, longitude: 13.4 })).toContain("covers only the United States");
});

test("get_forecast does not follow a URL to another host", async () => {
  expect(await call("get_forecast", { latitude: 1, longitude: 1 })).toContain("could not be fetched");
  expect(asked).toEqual([`${API}/points/1,1`]);
});

test("a state that is not two letters is refused without a request to the service", async () => {
  const client = await open();
  const { isError, content } = await client.callTool("get_alerts", { state: "Texas" });
  await client.close();
  expect(isError).toBe(true);
  expect(JSON.stringify(content)).toContain("Give the two letters of a state");
  expect(asked).toEqual([]);
});

test("a session continues after its object is evicted from memory", async () => {
  const events: string[] = [];
  const client = await connect(worker.url("/mcp"), {
    name: "test",
    version: "1.0.0",
    protocolVersions: ["2025-11-25"],
    onEvent: ({ type }) => events.push(type),
  });
  await client.callTool("get_alerts", { state: "TX" });
  expect(await worker.evict("McpObject")).toBeGreaterThan(0);
  const { isError } = await client.callTool("get_alerts", { state: "TX" });
  expect(isError).not.toBe(true);
  // If the server had lost the session, the client would have opened a new one.
  expect(events).not.toContain("session-reopened");
  await client.close();
});
