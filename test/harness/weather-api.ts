/**
 * A stand-in for api.weather.gov: realistic payloads for two states and one place, its answers to unknown and unrounded
 * coordinates, and a record of the requests. The template does not notice the difference.
 *
 * In workerd it is the outbound service. For a Node process, `serve` puts it on a loopback port and
 * `test/interop/weather-fetch.ts` sends that process's fetches there.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export const WEATHER_API = "https://api.weather.gov";
/** Header of a redirected fetch with the URL that it was meant for. */
export const MEANT_FOR = "x-meant-for";

type Json = Readonly<Record<string, unknown>>;

export interface Asked {
  readonly url: string;
  readonly userAgent: string | null;
  readonly accept: string | null;
}

export class WeatherApi {
  readonly asked: Asked[] = [];
  readonly #answers = new Map<string, () => Response>();

  /** Overrides the response to one URL or one path of the API. */
  on(urlOrPath: string, answer: () => Response): void {
    this.#answers.set(new URL(urlOrPath, WEATHER_API).href, answer);
  }

  /** The requested URLs that contain `part`. */
  urls(part: string): string[] {
    return this.asked.map(({ url }) => url).filter((url) => url.includes(part));
  }

  /** Handles one request, whatever its host. */
  readonly answer = (request: Request): Response => {
    const { url, headers } = request;
    this.asked.push({ url, userAgent: headers.get("user-agent"), accept: headers.get("accept") });
    const own = this.#answers.get(url);
    if (own) return own();
    const { origin, pathname } = new URL(url);
    if (origin !== WEATHER_API) return new Response("not the weather service", { status: 421 });
    if (!headers.get("user-agent")) return problem(403, "Forbidden", "A User-Agent header is required.");
    const [, first = "", second = "", third = "", last = ""] = pathname.split("/");
    if (first === "alerts") return alertsAnswer(last);
    if (first === "points") return pointAnswer(second);
    if (first === "gridpoints" && second === "STO" && third === "41,68" && last === "forecast") {
      return geoJson(FORECAST);
    }
    return problem(404, "Not Found", `No resource is at ${pathname}.`);
  };

  /** Serves requests that were meant for the internet on a loopback port. */
  async serve(): Promise<{ readonly origin: string; close(): Promise<void> }> {
    const server = createServer(async (incoming, outgoing) => {
      const response = this.answer(meant(incoming));
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(await response.text());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return {
      origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    };
  }
}

function meant(incoming: IncomingMessage): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (typeof value === "string" && name !== MEANT_FOR) headers.set(name, value);
  }
  return new Request(String(incoming.headers[MEANT_FOR]), { headers });
}

export function geoJson(body: Json): Response {
  return Response.json(body, { headers: { "content-type": "application/geo+json" } });
}

/** An error in the API's format. */
export function problem(status: number, title: string, detail: string, headers: Record<string, string> = {}): Response {
  const body = {
    correlationId: "2c8f6c1e",
    title,
    type: `${WEATHER_API}/problems/${title.replaceAll(" ", "")}`,
    status,
    detail,
    instance: `${WEATHER_API}/requests/2c8f6c1e`,
  };
  return Response.json(body, { status, headers: { "content-type": "application/problem+json", ...headers } });
}

const AREAS = new Set("AL AK AZ AR CA CO CT DC FL GA HI ID IL KS NV NY OK OR TX UT VT WA WY PR GU GM LM".split(" "));

function alertsAnswer(area: string): Response {
  if (!AREAS.has(area)) return problem(400, "Bad Request", "Bad Request");
  return geoJson(alerts(area, area === "TX" ? [THUNDERSTORM, SMALL_CRAFT] : []));
}

/** The API uses four decimals without trailing zeros, and redirects everything else. */
function pointAnswer(place: string): Response {
  const exact = place
    .split(",")
    .map((degrees) => String(Number(Number(degrees).toFixed(4))))
    .join(",");
  if (exact !== place) {
    const detail = "The precision of latitude/longitude points is limited to 4 decimal digits for efficiency.";
    return problem(301, "Adjusting Precision Of Point Coordinate", detail, { location: `/points/${exact}` });
  }
  if (place === "38.5816,-121.4944") return geoJson(point(`${WEATHER_API}/gridpoints/STO/41,68/forecast`));
  return problem(404, "Data Unavailable For Requested Point", `Unable to provide data for requested point ${place}`);
}

const CONTEXT = ["https://geojson.org/geojson-ld/geojson-context.jsonld", { "@version": "1.1" }];
const WX_CONTEXT = [
  CONTEXT[0],
  { "@version": "1.1", wx: `${WEATHER_API}/ontology#`, "@vocab": `${WEATHER_API}/ontology#` },
];

/** A collection of alerts as the API returns for one area. */
export function alerts(area: string, features: readonly Json[]): Json {
  return {
    "@context": WX_CONTEXT,
    type: "FeatureCollection",
    features,
    title: `Current watches, warnings, and advisories for ${area}`,
    updated: "2026-10-24T21:05:00+00:00",
  };
}

/** One alert with every member that the API sends. */
export function alert(properties: Json, geometry: Json | null = null): Json {
  const id = "urn:oid:2.49.0.1.840.0.3f2a9c0d5b7e4c1f8a6d2e9b0c7f4a1d5e8b3c6f.001.1";
  return {
    id: `${WEATHER_API}/alerts/${id}`,
    type: "Feature",
    geometry,
    properties: {
      "@id": `${WEATHER_API}/alerts/${id}`,
      "@type": "wx:Alert",
      id,
      areaDesc: "Travis, TX; Williamson, TX",
      geocode: { SAME: ["048453", "048491"], UGC: ["TXC453", "TXC491"] },
      affectedZones: [`${WEATHER_API}/zones/county/TXC453`, `${WEATHER_API}/zones/county/TXC491`],
      references: [
        {
          "@id": `${WEATHER_API}/alerts/urn:oid:2.49.0.1.840.0.11aa22bb33cc44dd55ee66ff77aa88bb99cc00dd.001.1`,
          identifier: "urn:oid:2.49.0.1.840.0.11aa22bb33cc44dd55ee66ff77aa88bb99cc00dd.001.1",
          sender: "w-nws.webmaster@noaa.gov",
          sent: "2026-10-24T15:31:00-05:00",
        },
      ],
      sent: "2026-10-24T16:02:00-05:00",
      effective: "2026-10-24T16:02:00-05:00",
      onset: "2026-10-24T16:02:00-05:00",
      expires: "2026-10-24T16:45:00-05:00",
      ends: "2026-10-24T16:45:00-05:00",
      status: "Actual",
      messageType: "Alert",
      category: "Met",
      severity: "Severe",
      certainty: "Observed",
      urgency: "Immediate",
      event: "Severe Thunderstorm Warning",
      sender: "w-nws.webmaster@noaa.gov",
      senderName: "NWS Austin/San Antonio TX",
      headline:
        "Severe Thunderstorm Warning issued October 24 at 4:02PM CDT until 4:45PM CDT by NWS Austin/San Antonio TX",
      description: "At 401 PM CDT, a severe thunderstorm was located near Georgetown.\n\nHAZARD...60 mph wind gusts.",
      instruction: "For your protection move to an interior room on the lowest floor of a building.",
      response: "Shelter",
      parameters: {
        AWIPSidentifier: ["SVREWX"],
        WMOidentifier: ["WUUS54 KEWX 242102"],
        eventMotionDescription: ["2026-10-24T21:01:00-00:00...storm...250DEG...25KT...30.63,-97.68"],
        windThreat: ["RADAR INDICATED"],
        maxWindGust: ["60 MPH"],
        hailThreat: ["RADAR INDICATED"],
        maxHailSize: ["1.00"],
        BLOCKCHANNEL: ["EAS", "NWEM", "CMAS"],
        "EAS-ORG": ["WXR"],
        VTEC: ["/O.NEW.KEWX.SV.W.0123.261024T2102Z-261024T2145Z/"],
        eventEndingTime: ["2026-10-24T21:45:00+00:00"],
      },
      scope: "Public",
      code: "IPAWSv1.0",
      language: "en-US",
      web: "http://www.weather.gov",
      eventCode: { SAME: ["SVR"], NationalWeatherService: ["SVW"] },
      ...properties,
    },
  };
}

const THUNDERSTORM = alert(
  {},
  {
    type: "Polygon",
    coordinates: [
      [
        [-97.82, 30.58],
        [-97.61, 30.74],
        [-97.43, 30.61],
        [-97.66, 30.42],
        [-97.82, 30.58],
      ],
    ],
  },
);

/** Statements have no polygon and no instructions. */
const SMALL_CRAFT = alert({
  areaDesc: "Matagorda Bay; Galveston Bay",
  geocode: { SAME: ["077335", "077330"], UGC: ["GMZ335", "GMZ330"] },
  affectedZones: [`${WEATHER_API}/zones/forecast/GMZ335`, `${WEATHER_API}/zones/forecast/GMZ330`],
  references: [],
  ends: null,
  severity: "Minor",
  certainty: "Likely",
  urgency: "Expected",
  event: "Small Craft Advisory",
  senderName: "NWS Houston/Galveston TX",
  description: "* WHAT...Southeast winds 15 to 20 kt.\n\n* WHERE...Galveston Bay.",
  instruction: null,
  response: "Avoid",
});

/** The API's response for coordinates: the URLs of everything about the place. */
export function point(forecast: string | null): Json {
  const id = `${WEATHER_API}/points/38.5816,-121.4944`;
  const grid = `${WEATHER_API}/gridpoints/STO/41,68`;
  return {
    "@context": [
      CONTEXT[0],
      {
        "@version": "1.1",
        wx: `${WEATHER_API}/ontology#`,
        s: "https://schema.org/",
        geo: "http://www.opengis.net/ont/geosparql#",
        unit: "http://codes.wmo.int/common/unit/",
        "@vocab": `${WEATHER_API}/ontology#`,
        geometry: { "@id": "s:GeoCoordinates", "@type": "geo:wktLiteral" },
        city: "s:addressLocality",
        state: "s:addressRegion",
        distance: { "@id": "s:Distance", "@type": "s:QuantitativeValue" },
        bearing: { "@type": "s:QuantitativeValue" },
        value: { "@id": "s:value" },
        unitCode: { "@id": "s:unitCode", "@type": "@id" },
        forecastOffice: { "@type": "@id" },
        forecastGridData: { "@type": "@id" },
        publicZone: { "@type": "@id" },
        county: { "@type": "@id" },
      },
    ],
    id,
    type: "Feature",
    geometry: { type: "Point", coordinates: [-121.4944, 38.5816] },
    properties: {
      "@id": id,
      "@type": "wx:Point",
      cwa: "STO",
      type: "land",
      forecastOffice: `${WEATHER_API}/offices/STO`,
      gridId: "STO",
      gridX: 41,
      gridY: 68,
      forecast,
      forecastHourly: `${grid}/forecast/hourly`,
      forecastGridData: grid,
      observationStations: `${grid}/stations`,
      relativeLocation: {
        type: "Feature",
        geometry: { type: "Point", coordinates: [-121.469, 38.5666] },
        properties: {
          city: "Sacramento",
          state: "CA",
          distance: { unitCode: "wmoUnit:m", value: 2766.4 },
          bearing: { unitCode: "wmoUnit:degree_(angle)", value: 307 },
        },
      },
      forecastZone: `${WEATHER_API}/zones/forecast/CAZ017`,
      county: `${WEATHER_API}/zones/county/CAC067`,
      fireWeatherZone: `${WEATHER_API}/zones/fire/CAZ217`,
      timeZone: "America/Los_Angeles",
      radarStation: "KDAX",
      astronomicalData: {
        sunrise: "2026-10-24T07:20:11-07:00",
        sunset: "2026-10-24T18:15:43-07:00",
        transit: "2026-10-24T12:47:57-07:00",
        civilTwilightBegin: "2026-10-24T06:53:22-07:00",
        civilTwilightEnd: "2026-10-24T18:42:32-07:00",
      },
      nwr: { transmitter: "WXK63", sameCode: "006067", areaBroadcast: null, pointBroadcast: null },
    },
  };
}

type PeriodRow = readonly [name: string, temperature: number, wind: string, direction: string, short: string];

/** Fourteen half days, as the API always sends. */
const PERIODS: readonly PeriodRow[] = [
  ["This Afternoon", 72, "6 mph", "SW", "Sunny"],
  ["Tonight", 51, "2 to 6 mph", "SSE", "Mostly Clear"],
  ["Sunday", 70, "5 mph", "WSW", "Mostly Sunny"],
  ["Sunday Night", 52, "5 mph", "S", "Partly Cloudy"],
  ["Monday", 66, "8 mph", "S", "Chance Light Rain"],
  ["Monday Night", 54, "9 mph", "SSE", "Light Rain Likely"],
  ["Tuesday", 63, "10 mph", "S", "Light Rain"],
  ["Tuesday Night", 50, "6 mph", "WNW", "Slight Chance Light Rain"],
  ["Wednesday", 65, "7 mph", "NW", "Mostly Sunny"],
  ["Wednesday Night", 48, "5 mph", "NNW", "Mostly Clear"],
  ["Thursday", 68, "6 mph", "NW", "Sunny"],
  ["Thursday Night", 49, "5 mph", "NW", "Clear"],
  ["Friday", 71, "5 mph", "WNW", "Sunny"],
  ["Friday Night", 50, "3 mph", "W", "Clear"],
];

/** A forecast with every member that the API sends. `changes` are merged into its first period. */
export function forecast(changes: Json = {}, periods: readonly PeriodRow[] = PERIODS): Json {
  return {
    "@context": WX_CONTEXT,
    type: "Feature",
    geometry: {
      type: "Polygon",
      coordinates: [
        [
          [-121.5061, 38.5927],
          [-121.5012, 38.5711],
          [-121.4736, 38.575],
          [-121.4785, 38.5966],
          [-121.5061, 38.5927],
        ],
      ],
    },
    properties: {
      units: "us",
      forecastGenerator: "BaselineForecastGenerator",
      generatedAt: "2026-10-24T21:10:32+00:00",
      updateTime: "2026-10-24T19:44:08+00:00",
      validTimes: "2026-10-24T13:00:00+00:00/P7DT12H",
      elevation: { unitCode: "wmoUnit:m", value: 6.096 },
      periods: periods.map((row, index) => ({ ...period(row, index), ...(index === 0 ? changes : {}) })),
    },
  };
}

function period([name, temperature, windSpeed, windDirection, shortForecast]: PeriodRow, index: number): Json {
  const isDaytime = index % 2 === 0;
  const day = 24 + Math.floor(index / 2);
  const time = (date: number, hour: string) => `2026-10-${date}T${hour}:00:00-07:00`;
  return {
    number: index + 1,
    name,
    startTime: isDaytime ? time(day, index === 0 ? "14" : "06") : time(day, "18"),
    endTime: isDaytime ? time(day, "18") : time(day + 1, "06"),
    isDaytime,
    temperature,
    temperatureUnit: "F",
    temperatureTrend: "",
    probabilityOfPrecipitation: { unitCode: "wmoUnit:percent", value: shortForecast.includes("Rain") ? 40 : 0 },
    windSpeed,
    windDirection,
    icon: `${WEATHER_API}/icons/land/${isDaytime ? "day" : "night"}/few?size=medium`,
    shortForecast,
    detailedForecast: `${shortForecast}, with a ${isDaytime ? "high" : "low"} near ${temperature}. ${windDirection} wind ${windSpeed}.`,
  };
}

const FORECAST = forecast();
