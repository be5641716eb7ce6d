/** The `x-mcp-header` annotations that would make clients drop a tool are never sent. */
import { describe, expect, test } from "vitest";
import { KitError, McpServer } from "../../src/core/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import type { Members } from "../http/messages.ts";

describe("the x-mcp-header annotation of a tool", () => {
  const define = (properties: Members) => () =>
    new McpServer({ name: "n", version: "1" }).tool(
      "t",
      { input: jsonSchema({ type: "object", properties }) },
      () => "",
    );
  const header = (name: unknown, type: unknown = "string") => ({ type, "x-mcp-header": name });

  test.each<[string, Members]>([
    ["empty", { a: header("") }],
    ["with a space", { a: header("My Region") }],
    ["with a line break", { a: header("Region\r\nX: y") }],
    ["not a string", { a: header(1) }],
    ["of type number", { a: header("A", "number") }],
    ["of type array", { a: header("A", "array") }],
    ["without a type", { a: { "x-mcp-header": "A" } }],
    ["used twice, in different case", { a: header("Region"), b: header("REGION") }],
    ["under items", { a: { type: "array", items: header("A") } }],
    ["under oneOf", { a: { oneOf: [header("A")] } }],
    ["under $defs", { a: { $defs: { b: header("A") } } }],
  ])("is refused when the tool is defined if it is %s", (_, properties) => {
    expect(define(properties)).toThrow(KitError);
  });

  test("is not required: a property that only has the name of the annotation is accepted", () => {
    expect(define({ "x-mcp-header": { type: "string" } })).not.toThrow();
  });
});
