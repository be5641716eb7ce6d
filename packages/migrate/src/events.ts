/**
 * Events of a server: `onerror`, `onclose` and `oninitialized`.
 *
 * @module
 */
import { type BinaryExpression, Node, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import type { Plan } from "./handlers.ts";
import { freeName } from "./names.ts";
import { asFunction, oldClass, rangeOf, type Unit, unwrap } from "./unit.ts";

const NO_COUNTERPART = "has no counterpart: the kit serves clients of all versions, also without a handshake.";

/** Migrates the assignments of functions to events. Runs when the handlers are known. */
export function migrateEvents(migration: Migration, unit: Unit): void {
  const assigned = unit.file.getDescendantsOfKind(SyntaxKind.BinaryExpression).filter(isEvent);
  for (const assignment of assigned) {
    const target = assignment.getLeft();
    const name = Node.isPropertyAccessExpression(target) ? target.getName() : "";
    const isDone =
      (name === "onerror" && migrateError(unit, assignment)) ||
      (name === "onclose" && migrateClose(migration, unit, assignment)) ||
      (name === "oninitialized" && migrateInitialized(migration, unit, assignment));
    if (!isDone) unit.commentOut(assignment, `${name} ${NO_COUNTERPART}`);
  }
}

function isEvent(node: BinaryExpression): boolean {
  const target = node.getLeft();
  if (!Node.isPropertyAccessExpression(target) || node.getOperatorToken().getText() !== "=") return false;
  return /^(mcpServer|server)$/.test(oldClass(target.getExpression()) ?? "");
}

/** A handler that only prints the error does what the kit does without one. */
function migrateError(unit: Unit, assignment: BinaryExpression): boolean {
  const body = asFunction(unwrap(assignment.getRight()))?.getBody();
  const statements = Node.isBlock(body) ? body.getStatements() : [];
  const [only] = statements;
  const printed = Node.isExpressionStatement(only) && statements.length === 1 ? only.getExpression() : body;
  const statement = assignment.getParentIfKind(SyntaxKind.ExpressionStatement);
  if (!statement || !Node.isCallExpression(printed) || !/^console\.\w+$/.test(printed.getExpression().getText()))
    return false;
  unit.removeWithComments(statement);
  return true;
}

/** Whether a transport of one of these classes is created in the project. */
function creates(migration: Migration, classes: readonly string[]): boolean {
  return [...migration.units.keys()].some((file) =>
    file.getDescendantsOfKind(SyntaxKind.NewExpression).some((each) => classes.includes(oldClass(each) ?? "")),
  );
}

/** Migrates `onclose` for HTTP on Node, where one server serves all clients and therefore closes only when the process ends. */
function migrateClose(migration: Migration, unit: Unit, assignment: BinaryExpression): boolean {
  const handler = asFunction(unwrap(assignment.getRight()));
  if (!handler || handler.isAsync() || handler.getParameters().length > 0) return false;
  if (!creates(migration, ["http", "sse"]) || creates(migration, ["stdio", "webHttp"])) return false;
  unit.replace(assignment, (nested) => `process.once("exit", ${nested(rangeOf(handler))})`);
  return true;
}

/**
 * Migrates `oninitialized`. On stdio, a server has one client, so the function can run before the first call. Over HTTP, it has no
 * equivalent, because requests of modern clients do not belong to a connection.
 */
function migrateInitialized(migration: Migration, unit: Unit, assignment: BinaryExpression): boolean {
  const handler = asFunction(unwrap(assignment.getRight()));
  const statement = assignment.getParentIfKind(SyntaxKind.ExpressionStatement);
  const plans = [...migration.plans.values()].filter(({ kind }) => kind !== "roots");
  if (!handler || !statement || !Node.isSourceFile(statement.getParent()) || handler.getParameters().length > 0)
    return false;
  if (!creates(migration, ["stdio"]) || creates(migration, ["http", "webHttp", "sse"])) return false;
  if (plans.length === 0 || !plans.every((plan) => plan.unit === unit && canWait(migration, plan))) return false;
  migration.topics.add("initialized");
  const [run, flag, ready] = [
    freeName(unit, ["onInitialized", "handleInitialized"]),
    freeName(unit, ["isInitialized", "wasInitialized"]),
    freeName(unit, ["initialize", "initializeOnce"]),
  ];
  const isTyped = !/\.[cm]?jsx?$/.test(unit.path);
  if (isTyped) unit.need("mcp-edge", "type HandlerContext");
  migration.plans.add({ unit, handler, kind: "roots", lacksArguments: false, needsContext: true });
  const [type, given, result] = isTyped
    ? [": (ctx: HandlerContext) => unknown", "ctx: HandlerContext", ": Promise<void>"]
    : ["", "ctx", ""];
  unit.replace(statement, (nested) =>
    [
      `const ${run}${type} = ${nested(rangeOf(handler))};`,
      `let ${flag} = false;`,
      "",
      "/** Runs before the first call, because only older clients report that they are initialized. */",
      `async function ${ready}(${given})${result} {`,
      `  if (${flag}) return;`,
      "  try {",
      `    await ${run}(ctx);`,
      "  } catch (error) {",
      "    console.error(error);",
      "  }",
      `  ${flag} = true;`,
      "}",
    ].join(unit.newline),
  );
  for (const plan of plans) waitIn(migration, plan, ready);
  return true;
}

/** Whether a handler can await something before its own code. */
function canWait(migration: Migration, { handler }: Plan): boolean {
  const body = handler.getBody();
  return body !== undefined && migration.plans.hasContext(body) && (handler.isAsync() || !handler.getReturnTypeNode());
}

function waitIn(migration: Migration, { unit, handler }: Plan, name: string): void {
  const body = handler.getBody();
  if (!body) return;
  const call = `await ${name}(${migration.plans.contextFor(body) ?? "ctx"});`;
  if (!handler.isAsync()) unit.edits.insert(handler.getStart(), "async ");
  if (!Node.isBlock(body)) {
    unit.replace(body, (nested) => `{ ${call} return ${nested(rangeOf(body))}; }`);
    return;
  }
  const [first] = body.getStatements();
  const indent = first ? unit.indentAt(first.getStart()) : "";
  unit.edits.insert(body.getStart() + 1, first ? `${unit.newline}${indent}${call}` : ` ${call} `);
}
