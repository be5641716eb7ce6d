/** The running weather template: as a Worker behind an HTTP tap, and as a command behind a stdio tap. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { WeatherApi } from "../harness/weather-api.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { COMPILE_CACHE, NODE } from "../oracle/node.ts";

const ROOT = join(import.meta.dirname, "../..");
const STDIO_TAP = join(ROOT, "test/oracle/stdio-tap.ts");
const STDIO_ENTRY = join(ROOT, "templates/weather/src/stdio.ts");

/** `node stdio-tap.ts <report> -- node <arguments>`, with the process id as the name of the report. */
const TAPPED = `export NODE_COMPILE_CACHE=${JSON.stringify(COMPILE_CACHE)}; tap="$1"; reports="$2"; shift 2; exec "$0" "$tap" "$reports/$$.json" -- "$0" "$@"`;

const EXIT_MS = 10_000;

interface TapReport {
  readonly messages: number;
  readonly problems: readonly unknown[];
}

/** Sacramento's coordinates as people look them up; the API requires four decimals. */
export const SACRAMENTO = { latitude: 38.581572, longitude: -121.4944 };

/** The result of `get_alerts` for Texas. */
export const TEXAS_ALERTS = `Event: Severe Thunderstorm Warning
Area: Travis, TX; Williamson, TX
Severity: Severe
Description: At 401 PM CDT, a severe thunderstorm was located near Georgetown.

HAZARD...60 mph wind gusts.
Instructions: For your protection move to an interior room on the lowest floor of a building.
---
Event: Small Craft Advisory
Area: Matagorda Bay; Galveston Bay
Severity: Minor
Description: * WHAT...Southeast winds 15 to 20 kt.

* WHERE...Galveston Bay.
Instructions: No specific instructions are given.`;

/** The result of `get_forecast` for Sacramento. */
export const SACRAMENTO_FORECAST = `This Afternoon:
Temperature: 72°F
Wind: 6 mph SW
Forecast: Sunny, with a high near 72. SW wind 6 mph.
---
Tonight:
Temperature: 51°F
Wind: 2 to 6 mph SSE
Forecast: Mostly Clear, with a low near 51. SSE wind 2 to 6 mph.
---
Sunday:
Temperature: 70°F
Wind: 5 mph WSW
Forecast: Mostly Sunny, with a high near 70. WSW wind 5 mph.
---
Sunday Night:
Temperature: 52°F
Wind: 5 mph S
Forecast: Partly Cloudy, with a low near 52. S wind 5 mph.
---
Monday:
Temperature: 66°F
Wind: 8 mph S
Forecast: Chance Light Rain, with a high near 66. S wind 8 mph.`;

/** The template on workerd. Each conversation gets its own tap and so its own oracle. */
export interface WeatherWorker {
  readonly api: WeatherApi;
  readonly worker: Workerd;
  tap(): Promise<HttpTap>;
  stop(): Promise<void>;
}

export async function startWeatherWorker(): Promise<WeatherWorker> {
  const api = new WeatherApi();
  const worker = await Workerd.start({
    entry: "templates/weather/src/index.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
    outbound: api.answer,
  });
  const taps: HttpTap[] = [];
  return {
    api,
    worker,
    tap: async () => {
      const tap = await startHttpTap(`${worker.origin}/mcp`);
      taps.push(tap);
      return tap;
    },
    stop: async () => {
      for (const tap of taps) await tap.close();
      await worker.stop();
    },
  };
}

/** The template as a command that a client starts. */
export interface WeatherCommand {
  readonly api: WeatherApi;
  /** The command line option that makes a Node process fetch from the stand-in. */
  readonly preload: string;
  /** A command with its own report, behind a tap. */
  command(): { readonly command: string; readonly args: string[]; expectClean(): Promise<void> };
  stop(): Promise<void>;
}

export async function startWeatherCommand(): Promise<WeatherCommand> {
  const api = new WeatherApi();
  const served = await api.serve();
  const folder = mkdtempSync(join(tmpdir(), "weather-"));
  const preload = pathToFileURL(join(import.meta.dirname, "weather-fetch.ts"));
  preload.searchParams.set("api", served.origin);
  return {
    api,
    preload: `--import=${preload.href}`,
    command: () => {
      const reports = mkdtempSync(join(folder, "reports-"));
      return {
        // One report per process: a client may start a second one to detect the era.
        command: "sh",
        args: ["-c", TAPPED, NODE, STDIO_TAP, reports, `--import=${preload.href}`, STDIO_ENTRY],
        expectClean: () => expectCleanReports(reports),
      };
    },
    stop: async () => {
      await served.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Checks that the reports of the stdio taps contain no problem, and some messages: none would prove nothing. */
async function expectCleanReports(folder: string): Promise<void> {
  let total = 0;
  for (const file of readdirSync(folder)) {
    await ended(Number.parseInt(file, 10));
    const { messages, problems } = JSON.parse(readFileSync(join(folder, file), "utf8")) as TapReport;
    if (problems.length > 0) throw new Error(`the stdio tap reports ${JSON.stringify(problems, null, 2)}`);
    total += messages;
  }
  if (total === 0) throw new Error("the stdio tap saw no message");
}

/** Waits for a process: not every client waits for the process it ends, and the last report is written at its end. */
async function ended(pid: number): Promise<void> {
  const deadline = Date.now() + EXIT_MS;
  while (isRunning(pid)) {
    if (Date.now() > deadline) throw new Error(`process ${pid} did not end within ${EXIT_MS} ms`);
    await setTimeout(10);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // The process no longer exists.
    return false;
  }
}
