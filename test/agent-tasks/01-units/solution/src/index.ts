import { McpServer, ToolError } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import * as z from "zod";

/** The kind of each unit, and how it is converted to the base unit of its kind. */
const UNITS = {
  m: { kind: "length", factor: 1, offset: 0 },
  km: { kind: "length", factor: 1_000, offset: 0 },
  ft: { kind: "length", factor: 0.3048, offset: 0 },
  mi: { kind: "length", factor: 1_609.344, offset: 0 },
  kg: { kind: "weight", factor: 1, offset: 0 },
  lb: { kind: "weight", factor: 0.45359237, offset: 0 },
  C: { kind: "temperature", factor: 1, offset: 0 },
  F: { kind: "temperature", factor: 5 / 9, offset: -160 / 9 },
} as const;
const unit = z.enum(["m", "km", "ft", "mi", "kg", "lb", "C", "F"]);

const server = new McpServer({ name: "units", version: "1.0.0" });
server.tool(
  "convert",
  {
    description: "Converts a length, a weight or a temperature to another unit",
    annotations: { readOnlyHint: true },
    input: z.object({ value: z.number(), from: unit, to: unit }),
    output: z.object({ value: z.number(), unit }),
  },
  ({ value, from, to }) => {
    const [source, target] = [UNITS[from], UNITS[to]];
    if (source.kind !== target.kind) {
      throw new ToolError(
        `${from} is a ${source.kind}, and ${to} is a ${target.kind}. Choose two units of the same kind.`,
      );
    }
    return { value: (value * source.factor + source.offset - target.offset) / target.factor, unit: to };
  },
);

const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}
