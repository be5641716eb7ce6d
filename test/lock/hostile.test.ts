/** Contracts that are malformed or hostile: the problem is named, and the work is bounded. */
import { describe, expect, test } from "vitest";
import type { Tool } from "../../src/client/index.ts";
import { compareContracts, createContract, formatContract, parseContract } from "../../src/lock/index.ts";

const HINTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
const TOOL = { name: "t", inputSchema: {}, annotations: HINTS };

/** Returns a schema of nested arrays. */
function nested(depth: number): Record<string, unknown> {
  let schema: Record<string, unknown> = { type: "string" };
  for (let level = 0; level < depth; level += 1) schema = { items: schema };
  return schema;
}

describe("a lock file", () => {
  test.each<[unknown, string]>([
    [5, "The contract is a number; it must be an object."],
    [{}, '"lock" is missing; this version reads only the format 1.'],
    [{ lock: "2" }, '"lock" is "\\"2\\""; this version reads only the format 1.'],
    [{ lock: 1, server: [] }, '"server" is a list; it must be an object.'],
    [{ lock: 1, server: { name: 5 } }, '"server.name" is a number; it must be a string.'],
    [{ lock: 1, scopes: "a" }, '"scopes" is a string; it must be a list.'],
    [{ lock: 1, scopes: [null] }, '"scopes[0]" is null; it must be a string.'],
    [{ lock: 1, tools: {} }, '"tools" is an object; it must be a list.'],
    [{ lock: 1, tools: [TOOL, null] }, '"tools[1]" is null; it must be an object.'],
    [{ lock: 1, tools: [{ ...TOOL, name: undefined }] }, '"tools[0].name" is missing; it must be a string.'],
    [{ lock: 1, tools: [{ ...TOOL, inputSchema: [] }] }, '"tools[0].inputSchema" is a list; it must be an object.'],
    [
      { lock: 1, tools: [{ ...TOOL, annotations: { ...HINTS, readOnlyHint: "no" } }] },
      '"tools[0].annotations.readOnlyHint" is a string; it must be true or false.',
    ],
    [
      { lock: 1, prompts: [{ name: "p", arguments: [{ name: "a" }] }] },
      '"prompts[0].arguments[0].required" is missing; it must be true or false.',
    ],
    [{ lock: 1, resources: [{ name: "r" }] }, '"resources[0].uri" is missing; it must be a string.'],
    [
      { lock: 1, tools: [{ ...TOOL, inputSchema: nested(100) }] },
      "A member is invalid: it is nested more than 64 levels deep.",
    ],
    [{ lock: 1, tools: Array(20_001).fill(TOOL) }, '"tools" has 20001 entries, but at most 20000 are read.'],
  ])("%j is refused with the member that is wrong", (value, problem) => {
    expect(parseContract(value)).toEqual({ problem });
  });

  test("of a newer format is reported as such, so that the reader can be updated", () => {
    const problem = '"lock" is "2"; this version reads only the format 1.';
    expect(parseContract({ lock: 2 })).toEqual({ problem, isNewer: true });
  });

  test("members that are not part of the format are dropped, and __proto__ is only a name", () => {
    const text = `{"lock":1,"more":1,"tools":[{"name":"__proto__","__proto__":{"x":1},"inputSchema":{"properties":{"__proto__":{"type":"string"}}},"annotations":${JSON.stringify(HINTS)}}]}`;
    const { contract } = parseContract(JSON.parse(text));
    expect(Object.keys(contract ?? {})).not.toContain("more");
    const without = parseContract(JSON.parse(text.replace('"__proto__":{"type":"string"}', ""))).contract;
    if (!contract || !without) throw new Error("both are valid");
    expect(compareContracts(without, contract)).toMatchObject([{ path: "input.__proto__", severity: "compatible" }]);
    expect(compareContracts(contract, without)).toMatchObject([{ path: "input.__proto__", severity: "review" }]);
  });
});

describe("the lists of a hostile server", () => {
  test("a schema that is nested too deeply is refused with the name of its tool", () => {
    const tools = [{ name: "deep", inputSchema: nested(5_000) }] as Tool[];
    expect(() => createContract({ tools })).toThrow(
      'The tool "deep" cannot be locked: it is nested more than 64 levels deep.',
    );
  });

  test("a schema of the maximum depth can be compared, also as the target of a reference beside other keywords", () => {
    const of = (type: string) => {
      let schema: Record<string, unknown> = { type };
      for (let level = 0; level < 60; level += 1) schema = { items: schema };
      const a = { $ref: "#/$defs/s", items: { minLength: 1 } };
      const inputSchema = { properties: { a: { anyOf: [a] }, b: a }, $defs: { s: schema } };
      return createContract({ tools: [{ name: "t", inputSchema }] });
    };
    expect(compareContracts(of("string"), of("number"))).not.toEqual([]);
  });

  test("values of the wrong type do not throw, and the file that results can be read", () => {
    const odd = [null, 5, "x", [], {}, { name: null, inputSchema: 5, outputSchema: "x", annotations: [], _meta: 5 }];
    const named = { name: 5, uri: 5, uriTemplate: 5, description: { x: 1 }, mimeType: [], arguments: [null, {}] };
    const lists = {
      tools: odd,
      prompts: [...odd, named],
      resources: [...odd, named],
      resourceTemplates: [...odd, named],
    };
    const contract = createContract(lists as never);
    expect(parseContract(JSON.parse(formatContract(contract))).contract).toEqual(contract);
  });

  test("tools with the same name are all in the contract, and a change of one of them is found", () => {
    const twice = (description: string) =>
      createContract({
        tools: [
          { name: "t", inputSchema: {} },
          { name: "t", inputSchema: {}, description },
        ],
      });
    expect(twice("a").tools).toHaveLength(2);
    expect(compareContracts(twice("a"), twice("b"))).toMatchObject([{ name: "t", severity: "review" }]);
  });

  test("a comparison that is not complete counts as breaking", { tags: "long", timeout: 30_000 }, () => {
    const many = (type: string) =>
      createContract({ tools: Array.from({ length: 5_000 }, (_, at) => ({ name: `t${at}`, inputSchema: { type } })) });
    const changes = compareContracts(many("integer"), many("number"));
    expect(changes).toHaveLength(2_001);
    expect(changes.filter(({ severity }) => severity === "breaking")).toMatchObject([{ kind: "server" }]);

    const wide = (type: string) => ({
      properties: Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`a${at}`, { type }])),
    });
    const of = (schema: object) => createContract({ tools: [{ name: "t", inputSchema: schema as never }] });
    const found = compareContracts(of(wide("integer")), of({ ...wide("integer"), title: "x" }));
    expect(found).toContainEqual(
      expect.objectContaining({ severity: "breaking", reason: expect.stringContaining("too large") }),
    );
  });

  test("references with different spellings of one target are compared once, and every keyword is charged", () => {
    const spelled = (seed: number) =>
      [..."bbbbbbbbbbbb"]
        .map((letter, at) => ((seed >> at) & 1 ? `%${letter.charCodeAt(0).toString(16)}` : letter))
        .join("");
    const many = (value: number) => ({
      properties: Object.fromEntries(
        Array.from({ length: 3_000 }, (_, at) => [`p${at}`, { $ref: `#/$defs/${spelled(at)}` }]),
      ),
      $defs: { bbbbbbbbbbbb: Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`k${at}`, value])) },
    });
    const of = (schema: object) => createContract({ tools: [{ name: "t", inputSchema: schema as never }] });
    expect(compareContracts(of(many(1)), of(many(2)))).toHaveLength(1_000);

    const pairs = (value: number) => {
      const defs = Array.from({ length: 60 }, (_, at) => [
        `d${at}`,
        Object.fromEntries(Array.from({ length: 100 }, (_, name) => [`k${name}`, value + at])),
      ]);
      const properties = Array.from({ length: 3_600 }, (_, at) => [
        `p${at}`,
        { $ref: `#/$defs/d${value === 0 ? at % 60 : Math.floor(at / 60)}` },
      ]);
      return { properties: Object.fromEntries(properties), $defs: Object.fromEntries(defs) };
    };
    expect(compareContracts(of(pairs(0)), of(pairs(1_000))).at(-1)).toMatchObject({ severity: "breaking" });
  });

  test("characters that reviewers cannot see are escaped in the file", () => {
    const description = "a\u009b2J\u202e\u2028\u200b\u{e0041}";
    const text = formatContract(
      createContract({ tools: [{ name: "t", inputSchema: { type: "object" }, description }] }),
    );
    expect(text).toContain("a\\u009b2J\\u202e\\u2028\\u200b\\udb40\\udc41");
    expect(parseContract(JSON.parse(text)).contract?.tools[0]?.description).toBe(description);
  });

  test("a second definition with a name that was locked breaks callers", () => {
    const of = (...tools: readonly object[]) => createContract({ tools: tools as never });
    const one = { name: "t", inputSchema: {}, description: "a" };
    expect(compareContracts(of(one), of(one, { ...one, description: "z" }))).toMatchObject([
      { severity: "breaking", reason: "is listed twice, and callers cannot tell which definition applies" },
    ]);
  });

  test("schemas that branch into themselves end within the budget", { timeout: 30_000 }, () => {
    const names = Array.from({ length: 20 }, (_, at) => `d${at}`);
    const branching = (leaf: string) => ({
      $ref: "#/$defs/d0",
      $defs: Object.fromEntries(
        names.map((name, at) => [
          name,
          {
            properties: {
              [leaf]: {},
              ...Object.fromEntries(names.map((next) => [`${next}${at}`, { $ref: `#/$defs/${next}` }])),
            },
          },
        ]),
      ),
    });
    const of = (schema: object) => createContract({ tools: [{ name: "t", inputSchema: schema as never }] });
    expect(compareContracts(of(branching("x")), of(branching("y"))).length).toBeGreaterThan(0);
  });
});
