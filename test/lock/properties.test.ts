// @module-tag long
/** Properties of the comparison that hold for all contracts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compareContracts,
  createContract,
  formatContract,
  parseContract,
  type ServerLists,
} from "../../src/lock/index.ts";

const NAME = fc.oneof(
  fc.stringMatching(/^[a-z]{1,4}$/),
  fc.constantFrom("constructor", "__proto__", "toString", "a b", "\u001b[2J"),
);
const TEXT = fc.string({ maxLength: 20 });

/** Schemas with most keywords, and references into the definitions that `ROOT` adds. */
const { schema: SCHEMA } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(true, false, {}, { $ref: "#/$defs/one" }, { $ref: "#" }, { $ref: "https://example.com" }),
    fc.record(
      { type: fc.constantFrom("string", "number", "integer", ["string", "null"]), description: TEXT },
      { requiredKeys: [] },
    ),
    fc.record({ enum: fc.array(fc.oneof(TEXT, fc.integer()), { minLength: 1, maxLength: 4 }) }),
    fc.record(
      { minimum: fc.integer(), maximum: fc.integer(), pattern: TEXT, multipleOf: fc.nat() },
      { requiredKeys: [] },
    ),
    fc.record({ type: fc.constant("array"), items: tie("schema"), uniqueItems: fc.boolean() }, { requiredKeys: [] }),
    fc.record({ anyOf: fc.array(tie("schema"), { maxLength: 3 }) }),
    fc.record({ allOf: fc.array(tie("schema"), { maxLength: 2 }), not: tie("schema") }, { requiredKeys: [] }),
    fc.record(
      {
        type: fc.constant("object"),
        properties: fc.dictionary(NAME, tie("schema"), { maxKeys: 4 }),
        required: fc.uniqueArray(NAME, { maxLength: 3 }),
        additionalProperties: tie("schema"),
      },
      { requiredKeys: ["type"] },
    ),
  ),
}));
const ROOT = fc.record({
  type: fc.constant("object"),
  properties: fc.dictionary(NAME, SCHEMA, { maxKeys: 4 }),
  $defs: fc.record({ one: SCHEMA }),
});

const TOOL = fc.record(
  {
    name: NAME,
    description: TEXT,
    inputSchema: ROOT,
    outputSchema: ROOT,
    annotations: fc.record({ readOnlyHint: fc.boolean(), destructiveHint: fc.boolean() }, { requiredKeys: [] }),
  },
  { requiredKeys: ["name", "inputSchema"] },
);
const unique = <T>(item: fc.Arbitrary<T>, selector: (item: T) => string) =>
  fc.uniqueArray(item, { selector, maxLength: 4 });
const PARAMETER = fc.record({ name: NAME, description: TEXT, required: fc.boolean() });
const LISTS = fc.record(
  {
    name: TEXT,
    instructions: TEXT,
    scopes: fc.uniqueArray(NAME, { maxLength: 3 }),
    tools: unique(TOOL, ({ name }) => name),
    prompts: unique(fc.record({ name: NAME, arguments: unique(PARAMETER, ({ name }) => name) }), ({ name }) => name),
    resources: unique(fc.record({ uri: NAME, name: TEXT, mimeType: TEXT }), ({ uri }) => uri),
    resourceTemplates: unique(fc.record({ uriTemplate: NAME, name: TEXT }), ({ uriTemplate }) => uriTemplate),
  },
  { requiredKeys: [] },
) as unknown as fc.Arbitrary<ServerLists>;

/** Returns the contract of a text, as a program that reads the file has it. */
function reread(text: string) {
  const { contract, problem } = parseContract(JSON.parse(text));
  if (!contract) throw new Error(problem);
  return contract;
}

/** Returns the paths of all values in a JSON value that are not objects or lists. */
function leaves(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== "object" || value === null) return [path];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([name, each]) => leaves(each, [...path, name]));
}

/** Returns a copy with one value changed to another one of the same type. */
function changed(value: unknown, [step, ...rest]: readonly (string | number)[]): unknown {
  if (step === undefined) return other(value);
  if (Array.isArray(value)) return value.map((each, at) => (at === step ? changed(each, rest) : each));
  const entries = Object.entries(value as object);
  return Object.fromEntries(entries.map(([name, each]) => [name, name === step ? changed(each, rest) : each]));
}

function other(value: unknown): unknown {
  if (typeof value === "boolean") return !value;
  return typeof value === "number" ? value + 1 : `${value}x`;
}

describe("contracts", () => {
  test("a contract equals itself after it was written, read, and its lists and members were reordered", () => {
    fc.assert(
      fc.property(LISTS, (lists) => {
        const contract = createContract(lists);
        const text = formatContract(contract);
        expect(compareContracts(contract, reread(text))).toEqual([]);
        const reversed = Object.fromEntries(
          Object.entries(lists).map(([name, list]) => [name, Array.isArray(list) ? [...list].reverse() : list]),
        );
        expect(formatContract(createContract(reversed))).toBe(text);
      }),
      { numRuns: 200 },
    );
  });

  test("every change of a single value is found", () => {
    fc.assert(
      fc.property(LISTS, fc.nat(), (lists, seed) => {
        const contract = createContract(lists);
        const paths = leaves(contract).filter(([first]) => first !== "lock");
        const path = paths[seed % Math.max(1, paths.length)];
        fc.pre(path !== undefined);
        const { contract: after } = parseContract(changed(contract, path ?? []));
        fc.pre(after !== undefined);
        expect(compareContracts(contract, after ?? contract)).not.toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test("every definition that is removed breaks callers, and is compatible when it is added", () => {
    const lists = ["tools", "prompts", "resources", "resourceTemplates"] as const;
    fc.assert(
      fc.property(LISTS, fc.constantFrom(...lists), fc.nat(), (from, list, seed) => {
        const contract = createContract(from);
        const at = seed % Math.max(1, contract[list].length);
        fc.pre(contract[list].length > 0);
        const fewer = { ...contract, [list]: (contract[list] as readonly unknown[]).filter((_, each) => each !== at) };
        expect(compareContracts(contract, fewer)).toMatchObject([{ severity: "breaking" }]);
        expect(compareContracts(fewer, contract)).toMatchObject([{ severity: "compatible", reason: "was added" }]);
      }),
      { numRuns: 200 },
    );
  });

  test("two schemas differ in one direction exactly when they differ in the other one", () => {
    fc.assert(
      fc.property(ROOT, ROOT, (one, two) => {
        const of = (inputSchema: unknown) => createContract({ tools: [{ name: "t", inputSchema } as never] });
        const there = compareContracts(of(one), of(two));
        const back = compareContracts(of(two), of(one));
        expect(there.length === 0).toBe(back.length === 0);
      }),
      { numRuns: 200 },
    );
  });
});
