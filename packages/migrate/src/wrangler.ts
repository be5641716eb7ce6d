/**
 * The configuration of wrangler: the Durable Object class of the endpoint instead of the class of an `McpAgent`.
 *
 * @module
 */
import { Node, type ObjectLiteralExpression, Project, type PropertyAssignment } from "ts-morph";
import type { Migration } from "./context.ts";
import { guideOf } from "./guides.ts";
import type { TextFile } from "./migrate.ts";
import { memberOf } from "./object-parts.ts";
import type { Todo } from "./unit.ts";

const FLAG = "enable_request_signal";

/** Returns the new text. What cannot be rewritten is explained by a comment at the end. */
export function migrateWrangler(file: TextFile, migration: Migration, todos: Todo[]): string {
  if (!migration.needsObjects) return file.text;
  const names = [...migration.agents.keys()].filter((name) => file.text.includes(name));
  if (names.length === 0) return file.text;
  const written = file.path.endsWith(".toml") ? undefined : rewriteJson(file, names);
  if (written !== undefined) return written;
  const mark = "TODO(mcp-edge): ";
  if (file.text.includes(mark)) return file.text;
  const text = `Replace the class ${names.join(", ")} by McpObject: its binding named MCP, and a migration with new_sqlite_classes = ["McpObject"] and deleted_classes = ${JSON.stringify(names)}. See ${guideOf("mcp-agent")}`;
  todos.push({ path: file.path, line: 1, text });
  const comment = file.path.endsWith(".toml") ? "#" : "//";
  return `${file.text.trimEnd()}\n${comment} ${mark}${text}\n`;
}

/** Rewrites bindings and migrations; undefined if they do not have the expected form. */
function rewriteJson({ text }: TextFile, names: readonly string[]): string | undefined {
  const file = new Project({ useInMemoryFileSystem: true }).createSourceFile(
    "/wrangler.ts",
    `(${text.replace(/^\uFEFF/, "")})`,
  );
  const statement = file.getStatements()[0];
  const expression = Node.isExpressionStatement(statement) ? statement.getExpression() : undefined;
  const root = Node.isParenthesizedExpression(expression) ? expression.getExpression() : undefined;
  if (!Node.isObjectLiteralExpression(root) || file.getStatements().length !== 1) return undefined;
  const bindings = arrayOf(memberOf(memberOf(root, '"durable_objects"'), '"bindings"'));
  const migrations = arrayOf(memberOf(root, '"migrations"'));
  if (!bindings || !migrations) return undefined;
  const edits: { at: number; end: number; text: string }[] = [];
  for (const binding of bindings) {
    const value = memberOf(binding, '"class_name"');
    const name = Node.isStringLiteral(value) ? value.getLiteralValue() : "";
    if (!value || !names.includes(name)) continue;
    edits.push({ at: value.getStart(), end: value.getEnd(), text: '"McpObject"' });
    const bound = memberOf(binding, '"name"');
    if (bound) edits.push({ at: bound.getStart(), end: bound.getEnd(), text: '"MCP"' });
  }
  const last = migrations.at(-1);
  if (!last || edits.length === 0) return undefined;
  edits.push({ at: last.getEnd(), end: last.getEnd(), text: `, ${migrationText(names, migrations.length)}` });
  addFlag(root, edits);
  edits.sort((a, b) => b.at - a.at);
  let result = file.getFullText();
  for (const { at, end, text: inserted } of edits) result = result.slice(0, at) + inserted + result.slice(end);
  return `${text.startsWith("\uFEFF") ? "\uFEFF" : ""}${result.slice(1, -1)}`;
}

function migrationText(names: readonly string[], count: number): string {
  return `{ "tag": "mcp-edge-${count + 1}", "new_sqlite_classes": ["McpObject"], "deleted_classes": ${JSON.stringify(names)} }`;
}

function arrayOf(node: Node | undefined): readonly Node[] | undefined {
  return Node.isArrayLiteralExpression(node) ? node.getElements() : undefined;
}

function addFlag(root: ObjectLiteralExpression, edits: { at: number; end: number; text: string }[]): void {
  const property = root.getProperty('"compatibility_flags"') as PropertyAssignment | undefined;
  const flags = property?.getInitializer();
  if (!Node.isArrayLiteralExpression(flags)) return;
  const last = flags.getElements().at(-1);
  if (flags.getText().includes(FLAG)) return;
  const at = last?.getEnd() ?? flags.getStart() + 1;
  edits.push({ at, end: at, text: last ? `, "${FLAG}"` : `"${FLAG}"` });
}
