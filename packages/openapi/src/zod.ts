/**
 * Writes a shape as code with zod.
 *
 * @module
 */
import type { Scalar, Shape } from "./shape.ts";
import { memberName, quote } from "./text.ts";

/** Returns the code of a shape. @param indent The spaces before the line that contains it. */
export function toZod(shape: Shape, indent = ""): string {
  const described = shape.text === undefined ? "" : `.describe(${quote(shape.text)})`;
  return `${plain(shape, indent)}${shape.isNullable ? ".nullable()" : ""}${described}`;
}

function plain(shape: Shape, indent: string): string {
  switch (shape.kind) {
    case "string":
      return `z.string()${bound("min", shape.min)}${bound("max", shape.max)}`;
    case "number":
      return `${shape.isInteger ? "z.int()" : "z.number()"}${bound("min", shape.min)}${bound("max", shape.max)}`;
    case "boolean":
      return "z.boolean()";
    case "unknown":
      return "z.unknown()";
    case "values":
      return values(shape.values);
    case "list":
      return `z.array(${toZod(shape.items, indent)})${bound("min", shape.min)}${bound("max", shape.max)}`;
    case "map":
      return `z.record(z.string(), ${toZod(shape.values, indent)})`;
    case "any-of":
      return `z.union([${shape.options.map((option) => toZod(option, indent)).join(", ")}])`;
    case "object":
      return object(shape, indent);
  }
}

function object(shape: Shape & { readonly kind: "object" }, indent: string): string {
  const create = shape.isOpen ? "z.looseObject" : "z.object";
  if (shape.members.length === 0) return `${create}({})`;
  const lines = shape.members.map(({ name, shape: member, isRequired }) => {
    const optional = isRequired ? "" : ".optional()";
    const { text, ...bare } = member;
    const described = text === undefined ? "" : `.describe(${quote(text)})`;
    return `${indent}  ${memberName(name)}: ${toZod(bare, `${indent}  `)}${optional}${described},`;
  });
  return `${create}({\n${lines.join("\n")}\n${indent}})`;
}

function values(all: readonly Scalar[]): string {
  if (all.every((each) => typeof each === "string")) return `z.enum([${all.map(literal).join(", ")}])`;
  return `z.literal([${all.map(literal).join(", ")}])`;
}

function literal(value: Scalar): string {
  return typeof value === "string" ? quote(value) : String(value);
}

function bound(name: "min" | "max", value: number | undefined): string {
  return value === undefined ? "" : `.${name}(${value})`;
}
