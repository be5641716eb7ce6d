/** What the tools need of the National Weather Service API: https://www.weather.gov/documentation/services-web-api */
import * as z from "zod";

const API = "https://api.weather.gov";
const HEADERS = { "User-Agent": "weather-app/1.0", Accept: "application/geo+json" };
const TIMEOUT_MS = 30_000;

/** The API leaves members out or sends null (`instruction` above all); one odd member must not cost the others. */
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

/** The alerts active in a state, by its two letters. Undefined when they cannot be had. */
export async function activeAlerts(state: string, signal: AbortSignal): Promise<Alert[] | undefined> {
  const { data } = await get(`${API}/alerts/active/area/${state}`, alertCollection, signal);
  return data?.features.map(({ properties }) => properties);
}

/**
 * The forecast for a place, in half days, the next one first. Empty where the service has none (at sea, in other
 * countries); undefined when it cannot be had.
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
  // An answer names where to go next. It is followed on the API's own host only.
  if (!URL.canParse(url) || new URL(url).origin !== API) {
    console.error("weather: the API named a forecast that is not its own");
    return undefined;
  }
  const { status, data } = await get(url, forecast, signal);
  return status === 404 ? [] : data?.properties.periods;
}

/** The API redirects coordinates with more decimals, or with zeros at the end, to this form. */
function fourDecimals(degrees: number): string {
  return String(Number(degrees.toFixed(4)));
}

interface Answer<T> {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** Undefined unless the answer was a good one of the expected shape. */
  readonly data?: T;
}

/** Fetches JSON, following redirects. Never throws: a tool turns what is missing into a sentence. */
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
