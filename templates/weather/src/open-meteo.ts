/** A client for Open-Meteo, which covers the whole world and does not require a key: https://open-meteo.com/en/docs */
import { cleanText, createSafeFetch } from "mcp-edge/safe";
import * as z from "zod";
import { type Api, getJson } from "./get-json.ts";

/** Can only reach these two hosts, with limits on size and time. */
const openMeteo: Api = {
  name: "Open-Meteo",
  fetch: createSafeFetch({ hosts: ["geocoding-api.open-meteo.com", "api.open-meteo.com"], timeoutMs: 10_000 }),
  headers: { "User-Agent": "weather-app/1.0", Accept: "application/json" },
};

const name = z.string().transform((written) => cleanText(written));
const places = z.object({
  // The API omits the list if it does not find a place.
  results: z
    .array(z.object({ name, country: name.optional(), latitude: z.number(), longitude: z.number() }))
    .default([]),
});
const forecast = z.object({
  current: z.object({ temperature_2m: z.number(), relative_humidity_2m: z.number(), weather_code: z.number() }),
});

export interface Weather {
  readonly city: string;
  readonly temperature: number;
  /** Relative humidity in percent. */
  readonly humidity: number;
  readonly conditions: string;
}

/** Returns the current weather in a city; "unknown" if the city does not exist; undefined if the weather cannot be fetched. */
export async function currentWeather(
  city: string,
  unit: "celsius" | "fahrenheit",
  signal: AbortSignal,
): Promise<Weather | "unknown" | undefined> {
  const search = new URLSearchParams({ name: city, count: "1", format: "json" });
  const found = await getJson(openMeteo, `https://geocoding-api.open-meteo.com/v1/search?${search}`, places, signal);
  const place = found.data?.results[0];
  if (!place) return found.data && "unknown";
  const query = new URLSearchParams({
    latitude: String(place.latitude),
    longitude: String(place.longitude),
    current: "temperature_2m,relative_humidity_2m,weather_code",
    temperature_unit: unit,
  });
  const { data } = await getJson(openMeteo, `https://api.open-meteo.com/v1/forecast?${query}`, forecast, signal);
  return (
    data && {
      city: [place.name, place.country].filter(Boolean).join(", "),
      temperature: data.current.temperature_2m,
      humidity: data.current.relative_humidity_2m,
      conditions: describe(data.current.weather_code),
    }
  );
}

/** The first weather code of each kind, in ascending order (WMO table 4677, as used by Open-Meteo). */
const KINDS: readonly (readonly [number, string])[] = [
  [0, "clear"],
  [1, "partly cloudy"],
  [3, "overcast"],
  [45, "fog"],
  [51, "drizzle"],
  [61, "rain"],
  [71, "snow"],
  [80, "showers"],
  [85, "snow showers"],
  [95, "thunderstorm"],
];

function describe(code: number): string {
  return KINDS.findLast(([first]) => code >= first)?.[1] ?? "unknown";
}
