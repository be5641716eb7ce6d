/** The tools that every contestant serves: many that echo, and one that reports progress. */
import * as z from "zod";

/** The number of echo tools: 52, unless a growth run sets another number when it bundles. */
declare const ECHO_TOOLS: number;

export const echoInput = z.object({
  city: z.string().min(1).max(100).describe("Name of the place"),
  days: z.number().int().min(1).max(14).describe("How many days ahead"),
  units: z.enum(["metric", "imperial"]).optional().describe("Units of the answer"),
  tags: z.array(z.string()).max(10).optional().describe("Marks to put on the answer"),
});

export const emitInput = z.object({
  count: z.number().int().min(0).max(200_000).describe("Events to report"),
  pace: z.enum(["await", "timer"]).optional().describe("What the tool awaits after each event"),
});

export type Pace = NonNullable<z.infer<typeof emitInput>["pace"]>;

/** Awaited by `emit` after each event if it was given a pace: nothing, or a timer of 0 ms. */
export function pauseOf(pace: Pace): Promise<void> | undefined {
  return pace === "timer" ? new Promise((resolve) => setTimeout(resolve, 0)) : undefined;
}

export const EMIT = {
  name: "emit",
  description: "Reports its progress the given number of times, then answers",
} as const;

export interface EchoTool {
  readonly name: string;
  readonly description: string;
  readonly input: typeof echoInput;
}

/** Each has its own schema object, as in real programs. */
export const echoTools: readonly EchoTool[] = Array.from({ length: ECHO_TOOLS }, (_, place) => ({
  name: `forecast_${String(place).padStart(2, "0")}`,
  description: `Forecast number ${place} for a place: temperature, wind and rain, day by day`,
  input: echoInput.extend({}),
}));

export function echoText({ city, days }: { readonly city: string; readonly days: number }): string {
  return `${city}: ${days} days of sun`;
}

export { INFO } from "./info.ts";
