/** A client for the API of the National Weather Service: https://www.weather.gov/documentation/services-web-api */
import { cleanText, createSafeFetch } from "mcp-edge/safe";
import * as z from "zod";
import { type Api, getJson } from "./get-json.ts";

const API = "https://api.weather.gov";

/** Can only reach the API's host, even if a response contains a URL or a redirect, with limits on size and time. */
const nws: Api = {
  name: "the National Weather Service",
  fetch: createSafeFetch({ hosts: ["api.weather.gov"], timeoutMs: 30_000 }),
  headers: { "User-Agent": "weather-app/1.0", Accept: "application/geo+json" },
};

/**
 * A string from the API, which may also omit it or send null (often for `instruction`). An invalid member must not invalidate the
 * rest. The text is written by people, so invisible characters, which only a model would see, are removed.
 */
const text = z
  .string()
  .transform((written) => cleanText(written).trim())
  .nullable()
  .catch(null);

const alert = z.object({
  event: text,
  areaDesc: text,
  severity: text,
  description: text,
  instruction: text,
});
const period = z.object({
  name: text,
  temperature: z.number().nullable().catch(null),
  temperatureUnit: text,
  windSpeed: text,
  windDirection: text,
  detailedForecast: text,
});

const alertCollection = z.object({ features: z.array(z.object({ properties: alert })) });
const point = z.object({ properties: z.object({ forecast: text }) });
const forecast = z.object({ properties: z.object({ periods: z.array(period) }) });

export type Alert = z.infer<typeof alert>;
export type Period = z.infer<typeof period>;

/** Returns the active alerts for a state, given its two-letter code; undefined if they cannot be fetched. */
export async function activeAlerts(state: string, signal: AbortSignal): Promise<Alert[] | undefined> {
  const { data } = await getJson(nws, `${API}/alerts/active/area/${state}`, alertCollection, signal);
  return data?.features.map(({ properties }) => properties);
}

/**
 * Returns the forecast for a place: a list of half-day periods in chronological order. The list is empty where the service has no
 * forecast (at sea, in other countries). Returns undefined if the forecast cannot be fetched.
 */
export async function forecastPeriods(
  latitude: number,
  longitude: number,
  signal: AbortSignal,
): Promise<Period[] | undefined> {
  const found = await getJson(nws, `${API}/points/${fourDecimals(latitude)},${fourDecimals(longitude)}`, point, signal);
  if (found.status === 404) return [];
  if (!found.data) return undefined;
  const url = found.data.properties.forecast;
  if (!url) return [];
  const { status, data } = await getJson(nws, url, forecast, signal);
  return status === 404 ? [] : data?.properties.periods;
}

/** Formats a coordinate with at most four decimals and no trailing zeros. The API redirects other forms to this one. */
function fourDecimals(degrees: number): string {
  return String(Number(degrees.toFixed(4)));
}
