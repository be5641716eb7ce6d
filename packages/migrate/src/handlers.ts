/**
 * The functions that serve tools, prompts and resources: their parameters, and what they do with the context of the old kit.
 *
 * @module
 */
import { type ArrowFunction, type FunctionExpression, type MethodDeclaration, Node, SyntaxKind } from "ts-morph";
import type { Unit } from "./unit.ts";
import { rangeOf } from "./unit.ts";

/** A function with parameters. */
export type Handler = ArrowFunction | FunctionExpression | MethodDeclaration;

/** The kind of a handler, which determines the parameters before the context. */
export type HandlerKind = "tool" | "prompt" | "resource" | "template" | "roots";

const BEFORE_CONTEXT: Readonly<Record<HandlerKind, readonly string[]>> = {
  tool: ["_args"],
  prompt: ["_args"],
  resource: ["_uri"],
  template: ["_uri", "_variables"],
  roots: [],
};

/** The planned parameters of a handler. */
export interface Plan {
  readonly unit: Unit;
  readonly handler: Handler;
  readonly kind: HandlerKind;
  /** Whether the old kit passed only the context, because the definition has no arguments. */
  readonly lacksArguments: boolean;
  needsContext: boolean;
}

/** The plans of all handlers, by position in their file. */
export class Plans {
  readonly #plans = new Map<Node, Plan>();

  /** Adds the plan of a handler that is defined inline. */
  add(plan: Plan): void {
    this.#plans.set(plan.handler, plan);
  }

  /** The handler that contains a node. */
  around(node: Node): Plan | undefined {
    for (const ancestor of node.getAncestors()) {
      const plan = this.#plans.get(ancestor);
      if (plan) return plan;
    }
    return undefined;
  }

  /** Returns the name of the context in the handler around a node, and adds the parameter if there is none. */
  contextFor(node: Node): string | undefined {
    const plan = this.around(node);
    if (!plan) return undefined;
    plan.needsContext = true;
    return contextName(plan);
  }

  /** Whether a node is in a handler whose context has a name, or can get one. */
  hasContext(node: Node): boolean {
    const plan = this.around(node);
    return plan !== undefined && contextName(plan) !== undefined;
  }

  /** Whether a handler that had no parameter for the context gets one. */
  needsContext(handler: Node): boolean {
    return this.#plans.get(handler)?.needsContext === true;
  }

  /** Whether an expression is the context of a handler that the old kit called without arguments. */
  isContext(node: Node): boolean {
    if (!Node.isIdentifier(node)) return false;
    const declaration = node.getSymbol()?.getDeclarations()[0];
    if (!Node.isParameterDeclaration(declaration)) return false;
    const plan = this.#plans.get(declaration.getParent());
    return plan?.lacksArguments === true && plan.handler.getParameters()[0] === declaration;
  }

  /** All plans. */
  values(): Iterable<Plan> {
    return this.#plans.values();
  }
}

function contextIndex({ kind, lacksArguments }: Plan): number {
  return lacksArguments ? 0 : BEFORE_CONTEXT[kind].length;
}

function contextName(plan: Plan): string | undefined {
  const parameter = plan.handler.getParameters()[contextIndex(plan)];
  if (!parameter) return "ctx";
  return Node.isIdentifier(parameter.getNameNode()) ? parameter.getName() : undefined;
}

/** Changes the parameters of all handlers. Runs last, when it is known which of them need a context. */
export function writeParameters(plans: Plans): void {
  for (const plan of plans.values()) writePlan(plan);
}

function writePlan(plan: Plan): void {
  const { unit, handler, kind } = plan;
  const parameters = handler.getParameters();
  const fillers = BEFORE_CONTEXT[kind];
  const at = contextIndex(plan);
  const context = parameters[at];
  const added: string[] = [];
  if (plan.lacksArguments && (context || plan.needsContext)) added.push(...fillers);
  else if (plan.needsContext && !context) added.push(...fillers.slice(parameters.length));
  const isNew = plan.needsContext && !context;
  if (added.length > 0 || isNew) insertParameters(plan, added, isNew);
  const annotation = context?.getTypeNode();
  if (context && annotation) {
    // In place, the type of the context is inferred.
    unit.edits.replace({ start: context.getNameNode().getEnd(), end: annotation.getEnd() }, "");
  }
}

function insertParameters({ unit, handler, lacksArguments }: Plan, added: readonly string[], isNew: boolean): void {
  const parameters = handler.getParameters();
  const open = handler.getFirstChildByKind(SyntaxKind.OpenParenToken);
  const all = [...added, ...(isNew ? ["ctx"] : [])].join(", ");
  const [first] = parameters;
  const last = parameters.at(-1);
  if (!open && first) {
    // x => ... has no parentheses.
    unit.replace(
      first,
      (nested) => `(${lacksArguments ? `${all}, ` : ""}${nested(rangeOf(first))}${lacksArguments ? "" : `, ${all}`})`,
    );
  } else if (!last && open) {
    unit.edits.insert(open.getEnd(), all);
  } else if (lacksArguments && first) {
    unit.edits.insert(first.getStart(), `${all}, `);
  } else if (last) {
    unit.edits.insert(last.getEnd(), `, ${all}`);
  }
}
