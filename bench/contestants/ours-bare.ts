/** mcp-edge with one tool whose schema is written by hand: no schema library is bundled. */
import { McpServer, type StandardSchema } from "../../src/core/index.ts";
import { edge } from "../../src/worker/index.ts";
import { INFO } from "../info.ts";

interface Forecast {
  readonly city: string;
  readonly days: number;
}

const schema: StandardSchema<Forecast> = {
  "~standard": {
    version: 1,
    vendor: "bench",
    validate: (value) => {
      const { city, days } = value as Partial<Forecast>;
      return typeof city === "string" && typeof days === "number"
        ? { value: { city, days } }
        : { issues: [{ message: "city is a string, days is a number" }] };
    },
  },
};
const jsonSchema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
};

const server = new McpServer(INFO);
server.tool("forecast_00", { input: { schema, jsonSchema } }, ({ city, days }) => `${city}: ${days} days of sun`);
export default edge(server);
