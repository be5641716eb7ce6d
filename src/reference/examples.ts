/**
 * Examples from the protocol's documentation.
 *
 * @module
 */
import { type McpServer, ToolError } from "../core/index.ts";
import { jsonSchema } from "../schema/index.ts";

const numberList = { type: "array", items: { type: "number" }, minItems: 1, maxItems: 10_000 } as const;

export function addExamples(server: McpServer): void {
  server.tool(
    "echo",
    {
      description: "Returns the message",
      input: jsonSchema<{ message: string }>({
        type: "object",
        properties: { message: { type: "string", description: "The message to return" } },
        required: ["message"],
      }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ message }) => message,
  );
  server.tool(
    "calculate_sum",
    {
      description: "Adds two numbers together",
      input: jsonSchema<{ a: number; b: number }>({
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ a, b }) => String(a + b),
  );
  server.tool(
    "calculate_stats",
    {
      description: "Mean, median and count of numbers",
      input: jsonSchema<{ numbers: number[] }>({
        type: "object",
        properties: { numbers: numberList },
        required: ["numbers"],
      }),
      output: jsonSchema<Stats>({
        type: "object",
        properties: { mean: { type: "number" }, median: { type: "number" }, count: { type: "integer" } },
        required: ["mean", "median", "count"],
      }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ numbers }) => computeStats(numbers),
  );
  addWeather(server);
}

interface Stats {
  readonly mean: number;
  readonly median: number;
  readonly count: number;
}

function computeStats(numbers: readonly number[]): Stats {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  const sum = numbers.reduce((total, number) => total + number, 0);
  return { mean: sum / numbers.length, median: (low + high) / 2, count: numbers.length };
}

/** Temperatures of a few places, in degrees Celsius. The values are made up, because the example only demonstrates schemas. */
const PLACES: Readonly<Record<string, number>> = { Berlin: 11, "New York": 17, Sacramento: 24, Tokyo: 19 };

function addWeather(server: McpServer): void {
  server.tool(
    "get_weather",
    {
      description: "Returns made-up weather for a place",
      input: jsonSchema<{ location: string; units?: "metric" | "imperial" }>({
        type: "object",
        properties: {
          location: { type: "string", enum: Object.keys(PLACES) },
          units: { type: "string", enum: ["metric", "imperial"], default: "metric" },
        },
        required: ["location"],
      }),
      output: jsonSchema<{ temperature: number; conditions: string; units: string }>({
        type: "object",
        properties: {
          temperature: { type: "number", description: "The temperature in the requested units" },
          conditions: { type: "string" },
          units: { type: "string", enum: ["metric", "imperial"] },
        },
        required: ["temperature", "conditions", "units"],
      }),
    },
    ({ location, units = "metric" }) => {
      const celsius = PLACES[location];
      if (celsius === undefined) throw new ToolError(`There is no weather for ${location}.`);
      const temperature = units === "metric" ? celsius : Math.round((celsius * 9) / 5 + 32);
      return { temperature, conditions: "partly cloudy", units };
    },
  );
}
