/**
 * The reference server: an example of each feature, with the names that the official conformance suite uses.
 *
 * @module
 */
import { McpServer, ToolError } from "../core/index.ts";
import { jsonSchema } from "../schema/index.ts";
import { addExamples } from "./examples.ts";
import { inGroup } from "./in-group.ts";
import { addPrompts } from "./prompts.ts";
import { addQuestions } from "./questions.ts";
import { addResources } from "./resources.ts";
import { AUDIO_WAV, IMAGE_PNG } from "./samples.ts";
import { addTasks } from "./tasks.ts";
import { addTour } from "./tour.ts";

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

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Creates the server: first what a person would try, then the fixtures of the official suite. Each test can create its own. */
export function createReferenceServer(): McpServer {
  const server = new McpServer({
    name: "mcp-edge-reference",
    title: "mcp-edge reference server",
    version: "0.1.0",
    description: "An example of each thing that mcp-edge does, and the fixtures of the official conformance suite.",
    instructions: "Has an example of each feature, for conformance suites and for trying out clients.",
  });
  addTour(server);
  addFixtures(inGroup(server, "Official suite"));
  return server;
}

/** Adds the definitions that the official suite calls by their names. */
function addFixtures(server: McpServer): void {
  server.tool(
    "test_simple_text",
    { description: "Returns one text", annotations: { readOnlyHint: true } },
    () => "This is a simple text response for testing.",
  );
  server.tool("test_image_content", { description: "Returns an image" }, () => ({
    type: "image",
    data: IMAGE_PNG,
    mimeType: "image/png",
  }));
  server.tool("test_audio_content", { description: "Returns a sound" }, () => ({
    type: "audio",
    data: AUDIO_WAV,
    mimeType: "audio/wav",
  }));
  server.tool("test_embedded_resource", { description: "Returns an embedded resource" }, () => ({
    type: "resource",
    resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource." },
  }));
  server.tool("test_resource_link", { description: "Returns a link to a resource" }, () => ({
    type: "resource_link",
    uri: "test://static-text",
    name: "static-text",
    title: "A static text",
    mimeType: "text/plain",
  }));
  server.tool("test_multiple_content_types", { description: "Returns text, image and resource together" }, () => [
    { type: "text", text: "Multiple content types test:" },
    { type: "image", data: IMAGE_PNG, mimeType: "image/png" },
    { type: "resource", resource: { uri: "test://mixed-content-resource", mimeType: "application/json", text: "{}" } },
  ]);
  server.tool("test_error_handling", { description: "Always fails, with a text for the model" }, () => {
    throw new ToolError("This tool intentionally returns an error for testing");
  });
  server.tool("test_tool_with_progress", { description: "Reports progress 0, 50 and 100 of 100" }, async (_, ctx) => {
    for (const value of [0, 50, 100]) {
      ctx.progress(value, { total: 100, message: `${value} of 100` });
      await pause(50);
    }
    return "Progress reported.";
  });
  server.tool("test_tool_with_logging", { description: "Logs three times while it works" }, async (_, ctx) => {
    for (const step of ["started", "processing", "completed"]) {
      ctx.log("info", `Tool execution ${step}`, "reference");
      await pause(50);
    }
    return "Logged.";
  });
  server.tool(
    "test_reconnection",
    { description: "Closes the connection while it works; the client reconnects for the result" },
    async (_, ctx) => {
      ctx.disconnect(200);
      await pause(100);
      return "The connection was ended and resumed.";
    },
  );
  for (const kind of ["tool", "prompt"] as const) {
    server.tool(
      `test_trigger_${kind}_change`,
      { description: `Notifies clients that the list of ${kind}s has changed` },
      () => {
        if (kind === "tool") server.toolsChanged();
        else server.promptsChanged();
        return "Notified.";
      },
    );
  }
  server.tool(
    "test_trigger_resource_update",
    { description: "Notifies subscribers that the watched resource has changed" },
    (_, ctx) => {
      server.resourceUpdated("test://watched-resource");
      return `Notified, in request ${ctx.requestId}.`;
    },
  );
  server.tool("test_logging_tool", { description: "Logs once, for clients that request logs" }, (_, ctx) => {
    ctx.log("info", "A message for clients that requested logs");
    return "Logged, if asked.";
  });
  server.tool(
    "test_missing_capability",
    { description: "Needs a client that supports sampling", requires: ["sampling"] },
    () => "Sampling is declared.",
  );
  const region = { type: "string", description: "Region to ask in", "x-mcp-header": "Region" };
  server.tool(
    "test_x_mcp_header",
    {
      description: "Has an argument that is mirrored in a header",
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
  addExamples(server);
  addQuestions(server);
  addResources(server);
  addPrompts(server);
  addTasks(server);
}
