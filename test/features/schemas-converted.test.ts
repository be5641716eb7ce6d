/** A schema is converted to JSON Schema when it is defined, and only once. */
import { expect, test } from "vitest";
import * as z from "zod";
import { type AnySchema, defineTool, McpServer } from "../../src/core/index.ts";

/** Returns a schema that counts its conversions. */
function counting(): { schema: AnySchema<{ a: string }>; conversions: { input: number; output: number } } {
  const inner = z.object({ a: z.string() })["~standard"];
  const conversions = { input: 0, output: 0 };
  const convert = (direction: "input" | "output") => (options: { target: "draft-2020-12" }) => {
    conversions[direction] += 1;
    return inner.jsonSchema[direction](options);
  };
  const jsonSchema = { input: convert("input"), output: convert("output") };
  return { schema: { "~standard": { ...inner, jsonSchema } }, conversions };
}

test("a schema is converted once, when its tool is defined, however many servers the tool is added to or mounted in", () => {
  const { schema, conversions } = counting();
  const tool = defineTool("t", { input: schema, output: schema }, (given) => given);
  expect(conversions).toEqual({ input: 1, output: 1 });
  const [one, other] = [1, 2].map(() => new McpServer({ name: "one", version: "1.0.0", tools: [tool] }));
  if (one && other) other.mount(one, { prefix: "one_" });
  one?.tool("another", { input: schema }, () => "done");
  expect(conversions).toEqual({ input: 1, output: 1 });
});

test.each([
  ["input", { input: z.object({ at: z.date() }) }],
  ["output", { output: z.object({ at: z.date() }) }],
])("a schema that cannot be converted to JSON Schema is refused as %s each time it is defined", (place, options) => {
  const server = new McpServer({ name: "unshown", version: "1.0.0" });
  for (let time = 0; time < 2; time += 1) {
    expect(() => server.tool("t", options as object, () => "done")).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(`${place} of tool "t" cannot be shown as JSON Schema`),
      }),
    );
  }
});
