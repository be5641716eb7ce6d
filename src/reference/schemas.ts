/**
 * The reference server's tools that show input schemas, output schemas, and required capabilities.
 *
 * @module
 */
import type { McpServer } from "../core/index.ts";
import { jsonSchema } from "../schema/index.ts";

const contactSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: "then" is a keyword of JSON Schema.
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
} as const;

const numbers = jsonSchema<{ a: number; b: number }>({
  type: "object",
  properties: {
    a: { type: "number", description: "First summand" },
    b: { type: "number", description: "Second summand" },
  },
  required: ["a", "b"],
});

const sum = jsonSchema<{ sum: number }>({
  type: "object",
  properties: { sum: { type: "number" } },
  required: ["sum"],
});

export function addSchemas(server: McpServer): void {
  server.tool(
    "test_missing_capability",
    { description: "Needs a client that supports sampling", requires: ["sampling"] },
    () => "Sampling is declared.",
  );
  const region = { type: "string", description: "Region to ask in", "x-mcp-header": "Region" };
  server.tool(
    "test_x_mcp_header",
    {
      description: "Has an argument that is repeated in a header",
      input: jsonSchema<{ region: string }>({ type: "object", properties: { region }, required: ["region"] }),
    },
    ({ region }) => `Region: ${region}`,
  );
  server.tool(
    "json_schema_2020_12_tool",
    {
      description: "Shows that JSON Schema 2020-12 keywords are preserved",
      input: jsonSchema<{ name?: string }>(contactSchema),
    },
    ({ name }) => `Hello, ${name ?? "contact"}.`,
  );
  server.tool(
    "add",
    {
      title: "Add",
      description: "Adds two numbers",
      input: numbers,
      output: sum,
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    },
    ({ a, b }) => ({ sum: a + b }),
  );
}
