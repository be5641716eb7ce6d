/**
 * Creation of servers: `new McpServer(info, options)`.
 *
 * @module
 */
import { type NewExpression, Node } from "ts-morph";
import type { Migration } from "./context.ts";
import type { Nested } from "./edits.ts";
import { rangeOf, type Unit, unwrap } from "./unit.ts";

/** Options of the old kits that this kit also has. */
const KEPT = new Set(["instructions"]);
/** Capabilities that this kit derives from the definitions. */
const DERIVED = new Set(["tools", "prompts", "resources", "logging", "completions"]);

/** The options that other steps add, as text, by the expression that creates the server. */
export type AddedOptions = Map<Node, string[]>;

/** Merges the two arguments of the constructor into one. `env` is the name of the type of the bindings. */
export function migrateConstructor(
  migration: Migration,
  unit: Unit,
  created: NewExpression,
  added: AddedOptions,
  env?: string,
): void {
  const [info, options] = created.getArguments();
  if (!info) return;
  const more = added.get(created) ?? [];
  const literal = unwrap(options);
  const kept: Node[] = [];
  if (options && Node.isObjectLiteralExpression(literal)) {
    for (const property of literal.getProperties()) {
      if (Node.isSpreadAssignment(property)) {
        unit.todo(created, "The options of this server are not an object literal, so they were dropped.");
        continue;
      }
      const name = property.getName();
      if (KEPT.has(name)) kept.push(property);
      else if (name === "capabilities") reportCapabilities(migration, unit, created, property);
      else if (
        name !== "jsonSchemaValidator" &&
        name !== "debouncedNotificationMethods" &&
        name !== "enforceStrictCapabilities"
      )
        unit.todo(created, `The option ${name} has no counterpart.`);
    }
  } else if (options) {
    unit.todo(created, "The options of this server are not an object literal, so they were dropped.");
  }
  if (env !== undefined && created.getTypeArguments().length === 0)
    unit.edits.insert(created.getExpression().getEnd(), `<${env}>`);
  if (!options && more.length === 0) return;
  const end = (options ?? info).getEnd();
  const comma = options ? (/^\s*,/.exec(unit.text.slice(end))?.[0].length ?? 0) : 0;
  unit.edits.replace({ start: info.getStart(), end: end + comma }, (nested) => mergedText(info, kept, more, nested));
}

function mergedText(info: Node, kept: readonly Node[], more: readonly string[], nested: Nested): string {
  const members = [...kept.map((each) => nested(rangeOf(each))), ...more];
  if (members.length === 0) return nested(rangeOf(info));
  const literal = unwrap(info);
  if (!Node.isObjectLiteralExpression(literal) || literal.getProperties().length === 0) {
    return `{ ...${nested(rangeOf(info))}, ${members.join(", ")} }`;
  }
  const last = literal.getProperties().at(-1);
  if (!last) return nested(rangeOf(info));
  const head = nested({ start: literal.getStart(), end: last.getEnd() });
  const tail = nested({ start: last.getEnd(), end: literal.getEnd() }).replace(/^\s*,/, "");
  const line =
    /\n[ \t]*(?=\S[^\n]*$)/.exec(literal.getText().slice(0, last.getStart() - literal.getStart() + 1))?.[0] ?? " ";
  return `${head},${line}${members.join(`,${line}`)}${tail}`;
}

function reportCapabilities(migration: Migration, unit: Unit, created: NewExpression, property: Node): void {
  migration.topics.add("capabilities");
  const value = Node.isPropertyAssignment(property) ? unwrap(property.getInitializer()) : undefined;
  if (!Node.isObjectLiteralExpression(value)) return;
  for (const each of value.getProperties()) {
    if (Node.isSpreadAssignment(each) || DERIVED.has(each.getName())) continue;
    unit.todo(
      created,
      `The capability ${each.getName()} was left out: capabilities follow from the definitions and from edge().`,
    );
  }
}
