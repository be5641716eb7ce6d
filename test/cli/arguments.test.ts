import { expect, test } from "vitest";
import { commandFor, listArguments, readValues } from "../../src/cli/arguments/arguments.ts";
import type { JsonObject } from "../../src/core/protocol/jsonrpc.ts";

const OWN = ["json", "timeout"];

function read(properties: JsonObject, args: readonly string[], more: JsonObject = {}): JsonObject {
  const known = listArguments({ type: "object", properties, ...more });
  const command = commandFor("tool", known, OWN);
  command.parse([...args], { from: "user" });
  return readValues(known, command.opts(), OWN);
}

test.each<[string, JsonObject, string[], JsonObject]>([
  ["a string keeps digits", { a: { type: "string" } }, ["--a", "12"], { a: "12" }],
  ["a number", { a: { type: "number" } }, ["--a", "-1.5"], { a: -1.5 }],
  ["an integer", { a: { type: "integer" } }, ["--a=7"], { a: 7 }],
  ["a boolean without a value is true", { a: { type: "boolean" } }, ["--a"], { a: true }],
  ["--no- is false", { a: { type: "boolean" } }, ["--no-a"], { a: false }],
  ["a boolean with its value", { a: { type: "boolean" } }, ["--a", "false"], { a: false }],
  ["a list of numbers, repeated", { a: list("number") }, ["--a", "1", "--a", "2"], { a: [1, 2] }],
  ["a list of words after one option", { a: list("string") }, ["--a", "x", "y"], { a: ["x", "y"] }],
  ["a list as JSON", { a: list("integer") }, ["--a", "[1, 2]"], { a: [1, 2] }],
  ["an object as JSON", { a: { type: "object" } }, ["--a", '{"b": 1}'], { a: { b: 1 } }],
  ["a choice that is a number", { a: { enum: [1, 2] } }, ["--a", "2"], { a: 2 }],
  ["a titled choice", { a: { oneOf: [{ const: "s", title: "Small" }] } }, ["--a", "s"], { a: "s" }],
  ["null where it is allowed", { a: { type: ["number", "null"] } }, ["--a", "null"], { a: null }],
  ["a number that may be null", { a: { anyOf: [{ type: "number" }, { type: "null" }] } }, ["--a", "3"], { a: 3 }],
  ["the word null where null is not allowed", { a: { type: "string" } }, ["--a", "null"], { a: "null" }],
  ["camel case and underscores as they are", { aB: {}, a_b: {} }, ["--aB", "1", "--a_b", "2"], { aB: 1, a_b: 2 }],
  ["a name that the program has", { timeout: { type: "integer" } }, ["--arg-timeout", "5"], { timeout: 5 }],
  ["a default is left to the server", { a: { type: "number", default: 3 } }, [], {}],
])("reads %s", (_, properties, args, expected) => {
  expect(read(properties, args)).toEqual(expected);
});

function list(type: string): JsonObject {
  return { type: "array", items: { type } };
}

test("references in a schema are followed, and a cycle ends", () => {
  const $defs = { size: { enum: ["S", "M"] }, loop: { $ref: "#/$defs/loop" } };
  const properties = { a: { $ref: "#/$defs/size" }, b: { $ref: "#/$defs/loop" } };
  expect(read(properties, ["--a", "M", "--b", "1"], { $defs })).toEqual({ a: "M", b: 1 });
});

test.each<[string, JsonObject, string[], string]>([
  ["a string for a number", { a: { type: "number" } }, ["--a", "x"], '--a: "x" is not a number.'],
  ["an empty string for a number", { a: { type: "number" } }, ["--a", ""], '--a: "" is not a number.'],
  ["a fraction for an integer", { a: { type: "integer" } }, ["--a", "1.5"], '--a: "1.5" is not an integer.'],
  ["a value that is not a choice", { a: { enum: ["x", 2] } }, ["--a", "y"], '--a: "y" is not one of "x", 2.'],
  ["a boolean that is neither", { a: { type: "boolean" } }, ["--a=yes"], '--a: "yes" is neither true nor false.'],
  [
    "an object that is not JSON",
    { a: { type: "object" } },
    ["--a", "{"],
    '--a: "{" is not JSON. A string needs quotes: \'"text"\'.',
  ],
  [
    "an option that the tool lacks",
    { city: {} },
    ["--citi", "1"],
    "error: unknown option '--citi'\n(Did you mean --city?)",
  ],
])("refuses %s", (_, properties, args, message) => {
  expect(() => read(properties, args)).toThrow(message);
});

test("--help of a tool lists types, choices, required options, and defaults", () => {
  const schema = {
    type: "object",
    properties: {
      city: { type: "string", description: "Name of the city" },
      days: { type: "integer", default: 3 },
      units: { enum: ["metric", "imperial"] },
      tags: { type: "array", items: { type: "string" } },
      brief: { type: "boolean" },
      timeout: { type: ["number", "null"] },
    },
    required: ["city"],
  };
  expect(`\n${commandFor("mcp-edge call <server> weather", listArguments(schema), OWN).helpInformation()}`).toBe(`
Usage: mcp-edge call <server> weather [options] [-]

Options:
  --city <string>              Name of the city (required)
  --days <integer>             (default: 3)
  --units <metric|imperial>
  --tags <string...>
  --brief [boolean]
  --arg-timeout <number|null>
  -h, --help                   show this help
`);
});
