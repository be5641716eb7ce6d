/**
 * Rewrites the functions of a compiled module so that they have no name of their own. wrangler bundles with esbuild's
 * option `keepNames`, which adds a call with the name for each function that a declaration names; decision 022 has the
 * figures. Stack traces still show the names as long as the code is not minified, because engines take them from the
 * variables.
 *
 * @module
 */
import { parseAst } from "vitest/node";

/** A node of the syntax tree (ESTree), with its place in the text. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** Text that replaces a range. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Returns a module in which functions have no names. A function declaration at the top level becomes
 * `const f = (0, () => {})`, and so does `const f = () => {}` at every level. The former are moved behind the imports,
 * since other code of the module may call them before the line that declares them.
 */
export function withoutFunctionNames(code: string): string {
  const { body } = parseAst(code) as unknown as { readonly body: readonly Node[] };
  const edits: Edit[] = [];
  for (const statement of body) unnameIn(statement, edits);
  const imports: string[] = [];
  const functions: string[] = [];
  const others: string[] = [];
  let end = 0;
  for (const statement of body) {
    const start = end;
    end = endOfLine(code, statement.end);
    const declared = declaredIn(statement);
    if (declared) edits.push(...unnamed(declared));
    const group = statement.type === "ImportDeclaration" ? imports : declared ? functions : others;
    group.push(edited(code, start, end, edits));
  }
  return [...imports, ...functions, ...others, code.slice(end)].join("");
}

/** Returns the function that a statement at the top level declares. */
function declaredIn(statement: Node): Node | undefined {
  const declared = statement.type === "ExportNamedDeclaration" ? (statement.declaration as Node | null) : statement;
  return declared?.type === "FunctionDeclaration" ? declared : undefined;
}

/** Returns the edits that turn a function declaration into a constant: an arrow function, which is shorter, if possible. */
function unnamed({ start, end, id, async, generator, ...rest }: Node): Edit[] {
  const { name, end: head } = id as Node;
  const { start: block } = rest.body as Node;
  const isArrow =
    !generator &&
    !Object.values(rest)
      .flat()
      .some((child) => isNode(child) && needsFunction(child));
  const keyword = `${async ? "async " : ""}${isArrow ? "" : `function${generator ? "*" : ""} `}`;
  return [
    { start, end: head, text: `const ${name} = (0, ${keyword}` },
    ...(isArrow ? [{ start: block, end: block, text: "=> " }] : []),
    { start: end, end, text: ");" },
  ];
}

/** Whether code means something else in an arrow function, which has neither `this` nor `arguments` nor `new.target`. */
function needsFunction(node: Node): boolean {
  if (node.type === "ThisExpression" || node.type === "MetaProperty" || node.name === "arguments") return true;
  return Object.values(node)
    .flat()
    .some((child) => isNode(child) && needsFunction(child));
}

/** The member that holds the value, for each node that gives a function the name of what it is assigned to. */
const NAMING: Readonly<Record<string, string>> = {
  VariableDeclarator: "init",
  AssignmentExpression: "right",
  AssignmentPattern: "right",
  Property: "value",
  PropertyDefinition: "value",
};

/** Adds the edits for all functions without a name of their own that would get one from what they are assigned to. */
function unnameIn(node: Node, edits: Edit[]): void {
  const member = NAMING[node.type];
  const value = member === undefined ? undefined : (node[member] as Node | null);
  if (value && isAnonymous(value) && !isMethod(node)) {
    edits.push({ start: value.start, end: value.start, text: "(0, " }, { start: value.end, end: value.end, text: ")" });
  }
  for (const child of Object.values(node).flat()) if (isNode(child)) unnameIn(child, edits);
}

function isNode(value: unknown): value is Node {
  return typeof (value as Partial<Node> | null)?.type === "string";
}

function isAnonymous({ type, id }: Node): boolean {
  return type === "ArrowFunctionExpression" || (type === "FunctionExpression" && !id);
}

/** Whether a property is a method or an accessor, which is written without an expression. */
function isMethod({ type, method, kind }: Node): boolean {
  return type === "Property" && (method === true || kind !== "init");
}

/** Returns the end of a statement with the comment that follows it on its line. */
function endOfLine(code: string, end: number): number {
  const rest = /^[^\n]*\n?/.exec(code.slice(end))?.[0] ?? "";
  return /^\s*(\/\/|$)/.test(rest) ? end + rest.length : end;
}

/** Returns a range of the text with its edits. */
function edited(code: string, start: number, end: number, edits: readonly Edit[]): string {
  const inside = edits.filter((edit) => edit.start >= start && edit.end <= end).sort((a, b) => a.start - b.start);
  let text = "";
  let at = start;
  for (const edit of inside) {
    text += code.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + code.slice(at, end);
}
