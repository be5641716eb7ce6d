/** A client of the National Weather Service API: https://www.weather.gov/documentation/services-web-api */
import { cleanText, createSafeFetch } from "mcp-edge/safe";
import * as z from "zod";
import { type Api, getJson } from "./get-json.ts";

const API = "https://api.weather.gov";

/** Reaches the API's own host only, also when an answer contains a URL or redirects, and within limits of size and time. */
const nws: Api = {
  name: "the National Weather Service",
  fetch: createSafeFetch({ hosts: ["api.weather.gov"], timeoutMs: 30_000 }),
  headers: { "User-Agent": "weather-app/1.0", Accept: "application/geo+json" },
};

/**
 * The API omits members or sends null (often for `instruction`). One invalid member must not invalidate the others. People
 * write the texts, so characters that only a model would see are removed.
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

/** Returns the active alerts of a state, given its two letters, or undefined if they cannot be fetched. */
export async function activeAlerts(state: string, signal: AbortSignal): Promise<Alert[] | undefined> {
  const { data } = await getJson(nws, `${API}/alerts/active/area/${state}`, alertCollection, signal);
  return data?.features.map(({ properties }) => properties);
}

/**
 * Returns the forecast for a place in half days, the next one first. The list is empty where the service has no
 * forecast (at sea, in other countries); undefined means that it could not be fetched.
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

/** Formats a coordinate. The API redirects ones with more than four decimals, or with trailing zeros, to this form. */
function fourDecimals(degrees: number): string {
  return String(Number(degrees.toFixed(4)));
}
