/**
 * Definitions of resources and resource templates.
 *
 * @module
 */
import { Node, type ObjectLiteralExpression, type ParameterDeclaration, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import type { Nested } from "./edits.ts";
import type { HandlerKind } from "./handlers.ts";
import type { MethodCall } from "./register.ts";
import { completerText } from "./schemas.ts";
import { usesOf } from "./scopes.ts";
import { asFunction, followName, oldClass, rangeOf, type Unit, unwrap } from "./unit.ts";

/** Migrates `registerResource(name, uri, options, read)` and the older `resource(name, uri, options?, read)`. */
export function migrateResource(migration: Migration, { unit, call, callee }: MethodCall): void {
  const all = call.getArguments();
  const [name, uri] = all;
  const read = all.at(-1);
  const metadata = all.length > 3 ? all[2] : undefined;
  if (!name || !uri || !read || all.length < 3) {
    unit.commentOut(call, `This call of ${callee.getName()}() has an unknown form.`);
    return;
  }
  const template = oldClass(uri) === "template" ? followName(uri) : undefined;
  if (oldClass(uri) === "template" && !Node.isNewExpression(template)) {
    unit.commentOut(call, "This resource template is not created inline, so it was not converted.");
    return;
  }
  const parts = Node.isNewExpression(template) ? readTemplate(template.getArguments()) : undefined;
  if (parts?.problem) unit.todo(call, parts.problem);
  const kind: HandlerKind = parts ? "template" : "resource";
  const key = parts?.uri ?? uri;
  if (template && template !== unwrap(uri)) removeTemplate(unit, uri);
  unit.edits.replace(rangeOf(callee.getNameNode()), parts ? "resourceTemplate" : "resource");
  const last = metadata ?? uri;
  unit.edits.replace({ start: name.getStart(), end: last.getEnd() }, (nested) => {
    const complete = parts?.complete ? completeText(parts.complete, nested) : "";
    return `${nested(rangeOf(key))}, { name: ${nested(rangeOf(name))}${metadataText(metadata, nested)}${complete} }`;
  });
  migrateReader(migration, unit, read, kind);
  const list = parts?.list;
  if (list) addProvider(unit, call, callee.getExpression(), list);
}

/** Returns the members of the options, to be placed after the name. */
function metadataText(metadata: Node | undefined, nested: Nested): string {
  if (!metadata) return "";
  const literal = unwrap(metadata);
  if (!Node.isObjectLiteralExpression(literal)) return `, ...${nested(rangeOf(metadata))}`;
  const [first] = literal.getProperties();
  const last = literal.getProperties().at(-1);
  if (!first || !last) return "";
  return `, ${nested({ start: first.getStart(), end: last.getEnd() })}`;
}

interface TemplateParts {
  readonly uri: Node;
  readonly list?: Node;
  readonly complete?: ObjectLiteralExpression;
  readonly problem?: string;
}

function readTemplate([uri, callbacks]: readonly Node[]): TemplateParts | undefined {
  if (!uri) return undefined;
  const modifiers = /\{[^}]*(\*|:\d+)[,}]/.test(uri.getText());
  const problem = modifiers
    ? "URI templates have no modifiers * and :n here: use {+path} for a path with slashes."
    : undefined;
  const found: { list?: Node; complete?: ObjectLiteralExpression } = {};
  const literal = followName(callbacks);
  if (Node.isObjectLiteralExpression(literal)) {
    for (const property of literal.getProperties()) {
      if (Node.isMethodDeclaration(property) && property.getName() === "list") found.list = property;
      if (!Node.isPropertyAssignment(property)) continue;
      const value = unwrap(property.getInitializer());
      if (property.getName() === "list" && value && value.getText() !== "undefined") found.list = value;
      if (property.getName() === "complete" && Node.isObjectLiteralExpression(value)) found.complete = value;
    }
  }
  return { uri, ...found, ...(problem === undefined ? {} : { problem }) };
}

/** Removes the declaration of a template whose value is now written in place. */
function removeTemplate(unit: Unit, name: Node): void {
  const identifier = unwrap(name);
  if (!Node.isIdentifier(identifier)) return;
  const declaration = identifier.getSymbol()?.getDeclarations()[0];
  const statement = declaration?.getFirstAncestorByKind(SyntaxKind.VariableStatement);
  if (statement && statement.getSourceFile() === unit.file && statement.getDeclarations().length === 1)
    unit.remove(statement);
}

function completeText(literal: ObjectLiteralExpression, nested: Nested): string {
  const members = literal.getProperties().flatMap((each) => {
    if (Node.isPropertyAssignment(each)) {
      const value = each.getInitializer();
      return value ? [`${each.getNameNode().getText()}: ${completerText(value, nested)}`] : [];
    }
    return [nested(rangeOf(each))];
  });
  return `, complete: { ${members.join(", ")} }`;
}

/** Moves the list function of a template to the provider of the server, which can have only one. */
function addProvider(unit: Unit, call: Node, server: Node, list: Node): void {
  const mark = `provider ${server.getText()}`;
  let isFirst = false;
  unit.edits.once(mark, () => {
    isFirst = true;
  });
  if (!isFirst) {
    unit.todo(call, "A server has one provider of listed resources: add the list of this template to it.");
    return;
  }
  const statement = call.getFirstAncestorByKind(SyntaxKind.ExpressionStatement) ?? call;
  const indent = unit.indentAt(statement.getStart());
  unit.edits.replace({ start: statement.getEnd(), end: statement.getEnd() }, (nested) => {
    const text = nested(rangeOf(list));
    const listed = Node.isMethodDeclaration(list)
      ? `({ ${text} }).list()`
      : `(${text})(${asFunction(list)?.getParameters().length ? "ctx" : ""})`;
    const parameter = listed.endsWith("(ctx)") ? "ctx" : "";
    return `${unit.newline}${indent}${nested(rangeOf(server))}.resourceProvider({ list: async (${parameter}) => (await ${listed}).resources, read: () => undefined });`;
  });
}

/** Migrates the reader: it gets the URI as a string instead of a `URL`. */
function migrateReader(migration: Migration, unit: Unit, read: Node, kind: HandlerKind): void {
  const handler = asFunction(unwrap(read));
  if (!handler) {
    const [before, after] = kind === "template" ? ["uri, variables, ctx", "variables, ctx"] : ["uri, ctx", "ctx"];
    unit.replace(read, (nested) => `(${before}) => (${nested(rangeOf(read))})(new URL(uri), ${after})`);
    return;
  }
  migration.plans.add({ unit, handler, kind, lacksArguments: false, needsContext: false });
  const [uri, variables] = handler.getParameters();
  if (kind === "template") fixVariables(unit, variables);
  if (!uri) return;
  const annotation = uri.getTypeNode();
  if (annotation?.getText() === "URL") unit.replace(annotation, "string");
  if (!Node.isIdentifier(uri.getNameNode())) {
    unit.todo(read, "The reader gets the URI as a string, not as a URL.");
    return;
  }
  for (const reference of usesOf(uri.getNameNode())) rewriteUri(unit, reference);
}

/** The type of the variables is inferred. */
function fixVariables(unit: Unit, variables: ParameterDeclaration | undefined): void {
  const annotation = variables?.getTypeNode();
  if (variables && annotation)
    unit.edits.replace({ start: variables.getNameNode().getEnd(), end: annotation.getEnd() }, "");
}

/** Rewrites one use of the URI: `uri.href` and `uri.toString()` are the string itself. */
function rewriteUri(unit: Unit, reference: Node): void {
  const name = reference.getText();
  const parent = reference.getParent();
  if (Node.isPropertyAccessExpression(parent) && parent.getExpression() === reference) {
    if (parent.getName() === "href") {
      unit.replace(parent, name);
      return;
    }
    const call = parent.getParent();
    if (/^(toString|toJSON)$/.test(parent.getName()) && Node.isCallExpression(call)) {
      unit.replace(call, name);
      return;
    }
  }
  if (Node.isTemplateSpan(parent)) return;
  if (Node.isCallExpression(parent) && /^(String|decodeURIComponent|decodeURI)$/.test(parent.getExpression().getText()))
    return;
  if (Node.isShorthandPropertyAssignment(parent)) {
    unit.replace(parent, `${name}: new URL(${name})`);
    return;
  }
  unit.replace(reference, `new URL(${name})`);
}
