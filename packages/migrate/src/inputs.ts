/**
 * `inputRequired(...)` of the SDK v2: a handler that asks by returning the questions.
 *
 * @module
 */
import { type CallExpression, Node, SyntaxKind } from "ts-morph";
import { hasUnknownMembers, memberOf } from "./object-parts.ts";
import { rangeOf, type Unit, unwrap } from "./unit.ts";

const NAME = "inputRequired";

/** Migrates the questions of a file, and the values that contain them. */
export function migrateInputs(unit: Unit): void {
  const isImported = unit.file
    .getImportDeclarations()
    .some(
      (each) =>
        each.getModuleSpecifierValue() === "@modelcontextprotocol/server" &&
        each.getNamedImports().some((one) => one.getName() === NAME && !one.getAliasNode()),
    );
  if (!isImported) return;
  for (const call of unit.file.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    const callee = call.getExpression();
    if (callee.getText() === NAME) migrateWhole(unit, call);
    else if (Node.isPropertyAccessExpression(callee) && callee.getExpression().getText() === NAME)
      migrateQuestion(unit, call, callee.getName());
  }
}

/** `inputRequired({ inputRequests, requestState })` has two arguments here. */
function migrateWhole(unit: Unit, call: CallExpression): void {
  const literal = unwrap(call.getArguments()[0]);
  const requests = memberOf(literal, "inputRequests");
  const state = memberOf(literal, "requestState");
  const isKnown = Node.isObjectLiteralExpression(literal) && !hasUnknownMembers(literal);
  if (!isKnown || !(requests || state)) {
    unit.todo(call, "inputRequired() gets the questions and the state as two arguments.");
    return;
  }
  unit.need("mcp-edge", NAME);
  unit.replace(call, (nested) => {
    const questions = requests ? nested(rangeOf(requests)) : "{}";
    return `${NAME}(${questions}${state ? `, ${nested(rangeOf(state))}` : ""})`;
  });
}

function migrateQuestion(unit: Unit, call: CallExpression, kind: string): void {
  const [params] = call.getArguments();
  const members = ["message", kind === "elicitUrl" ? "url" : "requestedSchema"].map((name) => memberOf(params, name));
  const [message, second] = members;
  if (kind === "createMessage" && params) {
    unit.need("mcp-edge", "sampleQuestion");
    unit.replace(call, (nested) => `sampleQuestion(${nested(rangeOf(params))})`);
  } else if ((kind === "elicit" || kind === "elicitUrl") && message && second) {
    const name = `${kind}Question`;
    unit.need("mcp-edge", name);
    unit.replace(call, (nested) => `${name}(${nested(rangeOf(message))}, ${nested(rangeOf(second))})`);
  } else if (kind === "listRoots") {
    unit.need("mcp-edge", "rootsQuestion");
    unit.replace(call, "rootsQuestion()");
  } else unit.todo(call, `inputRequired.${kind}() has no counterpart of this form.`);
}
