import { describe, expect, test } from "vitest";
import { ID_OPTIONAL_IN_ERRORS } from "./check.ts";
import { METHODS, type Side, VERSIONS } from "./methods.ts";
import { isJson, type Spec, schemaAt, specOf, step } from "./spec.ts";

/** Names of the definitions in the union that a side sends, with their methods. Some unions of one are inlined. */
function methodsInUnion(spec: Spec, union: string): string[] {
  const found = schemaAt(spec, `${spec.root}${union}`);
  if (found === undefined) return [];
  const { anyOf } = found.schema;
  const pointers = Array.isArray(anyOf)
    ? anyOf.map((_, index) => step(found.pointer, "anyOf", `${index}`))
    : [found.pointer];
  return pointers.map((pointer) => {
    const branch = schemaAt(spec, pointer);
    const method = branch && schemaAt(spec, step(branch.pointer, "properties", "method"))?.schema.const;
    const name = branch?.pointer.slice(spec.root.length).replace(/^ClientNotification$/, "CancelledNotification");
    return `${String(method)} ${name}`;
  });
}

const SIDES: readonly { side: Side; prefix: string }[] = [
  { side: "client", prefix: "Client" },
  { side: "server", prefix: "Server" },
];

for (const version of VERSIONS) {
  const spec = specOf(version);
  if (spec === undefined) continue;
  describe(`the method table in ${version}`, () => {
    for (const { side, prefix } of SIDES) {
      test(`lists all messages that a ${side} sends`, () => {
        const rows = METHODS.filter(
          (row) => row.versions.includes(version) && row.from.includes(side) && !row.extension,
        );
        const listed = rows.map((row) => `${row.method} ${row.message}`).sort();
        const defined = ["Request", "Notification"].flatMap((kind) => methodsInUnion(spec, `${prefix}${kind}`)).sort();
        expect(listed).toEqual(defined);
      });
    }

    test("names only defined results", () => {
      const names = METHODS.filter((row) => row.versions.includes(version) && !row.extension).map((row) => row.result);
      expect(names.filter((name) => name !== undefined && !spec.has(name))).toEqual([]);
    });

    test("contains which results can be input_required", () => {
      const asking = METHODS.filter(
        (row) => row.mayAskInput && row.versions.includes(version) && row.result !== undefined,
      );
      const defined = Object.keys(spec.defs).filter((name) => {
        const definition = spec.defs[name];
        return name.endsWith("ResultResponse") && JSON.stringify(definition).includes("InputRequiredResult");
      });
      const expected = spec.has("InputRequiredResult") ? asking.map((row) => `${row.result}Response`).sort() : [];
      expect(defined.sort()).toEqual(expected);
    });

    test("contains whether an error can come without an id", () => {
      const definition = spec.defs[spec.has("JSONRPCErrorResponse") ? "JSONRPCErrorResponse" : "JSONRPCError"];
      const required = isJson(definition) && Array.isArray(definition.required) ? definition.required : [];
      expect(required.includes("id")).toBe(!ID_OPTIONAL_IN_ERRORS.includes(version));
    });
  });
}

test("no side uses a method with two meanings in one version", () => {
  const keys = METHODS.flatMap((row) =>
    row.versions.flatMap((v) => row.from.map((side) => `${row.method} ${v} ${side}`)),
  );
  expect(keys.length).toBe(new Set(keys).size);
});

const extension = specOf("ext-tasks");
if (extension !== undefined) {
  test("the tasks extension defines every message that the table attributes to it", () => {
    const names = METHODS.filter((row) => row.extension).flatMap((row) => [row.message, row.result ?? row.message]);
    expect(names.filter((name) => !extension.has(name))).toEqual([]);
  });
}
