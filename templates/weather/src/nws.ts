/** A client of the National Weather Service API: https://www.weather.gov/documentation/services-web-api */
import * as z from "zod";

const API = "https://api.weather.gov";
const HEADERS = { "User-Agent": "weather-app/1.0", Accept: "application/geo+json" };
const TIMEOUT_MS = 30_000;

/** The API omits members or sends null (often for `instruction`). One invalid member must not invalidate the others. */
const text = z.string().trim().nullable().catch(null);

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
  const { data } = await get(`${API}/alerts/active/area/${state}`, alertCollection, signal);
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
  const found = await get(`${API}/points/${fourDecimals(latitude)},${fourDecimals(longitude)}`, point, signal);
  if (found.status === 404) return [];
  if (!found.data) return undefined;
  const url = found.data.properties.forecast;
  if (!url) return [];
  // The answer contains the URL of the forecast. It is followed only on the API's own host.
  if (!URL.canParse(url) || new URL(url).origin !== API) {
    console.error("weather: the API returned a forecast URL on another host");
    return undefined;
  }
  const { status, data } = await get(url, forecast, signal);
  return status === 404 ? [] : data?.properties.periods;
}

/** Formats a coordinate. The API redirects ones with more than four decimals, or with trailing zeros, to this form. */
function fourDecimals(degrees: number): string {
  return String(Number(degrees.toFixed(4)));
}

interface Answer<T> {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** Undefined unless the request succeeded and the answer had the expected shape. */
  readonly data?: T;
}

/** Fetches JSON and follows redirects. Never throws: the tool reports missing data as text. */
async function get<T>(url: string, shape: z.ZodType<T>, signal: AbortSignal): Promise<Answer<T>> {
  let status = 0;
  try {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(url, { headers: HEADERS, redirect: "follow", signal: deadline });
    status = response.status;
    if (response.ok) return { status, data: shape.parse(await response.json()) };
    await response.body?.cancel();
    console.error(`weather: the API answered ${status}`);
  } catch (error) {
    console.error(`weather: the API could not be read: ${error instanceof Error ? error.message : error}`);
  }
  return { status };
}
