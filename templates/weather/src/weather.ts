/** The weather server, with three tools. index.ts serves it as a Worker, stdio.ts over standard input and output. */
import { McpServer, ToolError } from "mcp-edge";
import * as z from "zod";
import { type Alert, activeAlerts, forecastPeriods, type Period } from "./nws.ts";
import { currentWeather } from "./open-meteo.ts";

export const server = new McpServer({
  name: "weather",
  title: "Weather",
  version: "1.0.0",
  instructions:
    "Provides the current weather in any city, from Open-Meteo, and alerts and forecasts for places in the United States, from the National Weather Service.",
});

/** All tools are read-only and call a service on the internet. */
const annotations = { readOnlyHint: true, openWorldHint: true };

server.tool(
  "get_alerts",
  {
    title: "Weather alerts",
    description: "Get the active weather alerts for a US state",
    input: z.object({
      state: z
        .string()
        .regex(/^[A-Za-z]{2}$/, "Give the two letters of a state, such as CA or NY")
        .toUpperCase()
        .describe("Two-letter US state code, such as CA or NY"),
    }),
    annotations,
  },
  async ({ state }, ctx) => {
    const alerts = await activeAlerts(state, ctx.signal);
    if (!alerts) return `The alerts for ${state} could not be fetched.`;
    if (alerts.length === 0) return `There are no active alerts for ${state}.`;
    return alerts.map(formatAlert).join(SEPARATOR);
  },
);

server.tool(
  "get_forecast",
  {
    title: "Weather forecast",
    description: "Get the weather forecast for a place in the United States",
    input: z.object({
      latitude: z.number().min(-90).max(90).describe("Latitude of the place in degrees, north is positive"),
      longitude: z.number().min(-180).max(180).describe("Longitude of the place in degrees, east is positive"),
    }),
    annotations,
  },
  async ({ latitude, longitude }, ctx) => {
    const periods = await forecastPeriods(latitude, longitude, ctx.signal);
    const place = `${latitude}, ${longitude}`;
    if (!periods) return `The forecast for ${place} could not be fetched.`;
    if (periods.length === 0) {
      return `There is no forecast for ${place}: the National Weather Service covers only the United States.`;
    }
    return periods.slice(0, PERIODS_SHOWN).map(formatPeriod).join(SEPARATOR);
  },
);

server.tool(
  "get_weather",
  {
    title: "Current weather",
    description: "Get the current weather in a city",
    input: z.object({
      city: z.string().min(1).max(100).describe("Name of the city, such as Berlin"),
      unit: z.enum(["celsius", "fahrenheit"]).default("celsius").describe("Unit of the temperature"),
    }),
    output: z.object({
      city: z.string().describe("The city that was found, with its country"),
      temperature: z.number().describe("The temperature in the requested unit"),
      unit: z.enum(["celsius", "fahrenheit"]),
      humidity: z.number().describe("Relative humidity in percent"),
      conditions: z.string(),
    }),
    annotations,
  },
  async ({ city, unit }, ctx) => {
    const weather = await currentWeather(city, unit, ctx.signal);
    if (!weather) throw new ToolError("The weather could not be fetched. Try again later.");
    if (weather === "unknown") throw new ToolError("There is no such city. Check its spelling, or name a larger one.");
    return { ...weather, unit };
  },
);

const SEPARATOR = "\n---\n";
const PERIODS_SHOWN = 5;

function formatAlert({ event, areaDesc, severity, description, instruction }: Alert): string {
  return [
    `Event: ${event || "Unknown"}`,
    `Area: ${areaDesc || "Unknown"}`,
    `Severity: ${severity || "Unknown"}`,
    `Description: ${description || "No description is available."}`,
    `Instructions: ${instruction || "No specific instructions are given."}`,
  ].join("\n");
}

function formatPeriod(period: Period): string {
  const { name, temperature, temperatureUnit, windSpeed, windDirection, detailedForecast } = period;
  return [
    `${name || "Unknown"}:`,
    `Temperature: ${temperature === null ? "Unknown" : `${temperature}°${temperatureUnit ?? ""}`}`,
    `Wind: ${[windSpeed, windDirection].filter(Boolean).join(" ") || "Unknown"}`,
    `Forecast: ${detailedForecast || "No details are available."}`,
  ].join("\n");
}
