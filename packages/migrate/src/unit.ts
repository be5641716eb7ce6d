/**
 * One source file of the project during its migration.
 *
 * @module
 */
import { Node, type SourceFile, SyntaxKind, type Type } from "ts-morph";
import { Edits, type Nested, type Range } from "./edits.ts";
import { guideOf } from "./guides.ts";
import { type Kit, kitOf } from "./old-kits.ts";

/** The names that a file imports, by module. A name with the prefix `type ` is imported as a type. */
export type Needs = Map<string, Set<string>>;

/** A part of the code that was not migrated. */
export interface Todo {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** A topic of the report about differences in behaviour. */
export type Topic =
  | "sessions"
  | "state"
  | "errors"
  | "thrown"
  | "schemas"
  | "http"
  | "props"
  | "capabilities"
  | "questions"
  | "stdio"
  | "sse"
  | "storage"
  | "initialized";

/** Matches the characters that end a single-line comment. */
const LINE_END = /\r\n|[\n\r\u2028\u2029]/;

/** Joins lines. A line break in a name of the project would end the comment of a note, and the rest would become code. */
function oneLine(text: string): string {
  return text.split(LINE_END).join(" ");
}

/** A source file with its changes and its notes. */
export class Unit {
  readonly file: SourceFile;
  readonly path: string;
  readonly text: string;
  readonly edits: Edits;
  readonly needs: Needs = new Map();
  readonly #out: Range[] = [];
  /** The notes, with their positions. */
  readonly #notes: (Todo & Range)[] = [];
  readonly topics: Set<Topic>;
  readonly kits = new Set<Kit>();
  /** Whether the file is a CommonJS module that uses `require` for one of the kits. */
  readonly requires: boolean;

  constructor(file: SourceFile, path: string, topics: Set<Topic>) {
    this.file = file;
    this.path = path;
    this.text = file.getFullText();
    this.edits = new Edits(this.text);
    this.topics = topics;
    for (const declaration of file.getImportDeclarations()) {
      const kit = kitOf(declaration.getModuleSpecifierValue());
      if (kit) this.kits.add(kit);
    }
    this.requires = file.getDescendantsOfKind(SyntaxKind.CallExpression).some((call) => {
      const [argument] = call.getArguments();
      return (
        call.getExpression().getText() === "require" &&
        Node.isStringLiteral(argument) &&
        kitOf(argument.getLiteralValue())
      );
    });
  }

  /** The notes, without those inside a statement that was turned into a comment as a whole. */
  get todos(): readonly Todo[] {
    const isInside = (a: Range, b: Range) => a.start >= b.start && a.end <= b.end && a.end - a.start < b.end - b.start;
    return this.#notes.filter((note) => !this.#out.some((range) => isInside(note, range)));
  }

  /** The kit to which notes refer. */
  get kit(): Kit {
    for (const kit of ["mcp-handler", "mcp-agent", "sdk-v2"] as const) if (this.kits.has(kit)) return kit;
    return "sdk-v1";
  }

  /** Replaces a node. */
  replace(node: Node, text: string | ((nested: Nested) => string)): void {
    this.edits.replace(rangeOf(node), text);
  }

  /** Adds an import of the kit. */
  need(module: string, name: string): void {
    const names = this.needs.get(module) ?? new Set();
    this.needs.set(module, names.add(name));
  }

  /** Leaves a note before the statement of a node. */
  todo(node: Node, note: string): void {
    const text = oneLine(note);
    const statement = statementOf(node);
    this.edits.once(`todo ${statement.getStart()} ${text}`, () => {
      this.#notes.push({ path: this.path, line: node.getStartLineNumber(), text, ...rangeOf(node) });
      const line = `// TODO(mcp-edge): ${text} See ${guideOf(this.kit)}`;
      const before = this.text.slice(0, statement.getStart()).trimEnd();
      // An earlier run may have left the same note.
      if (before.endsWith(line)) return;
      this.edits.insert(statement.getStart(), `${line}${this.newline}${this.indentAt(statement.getStart())}`);
    });
  }

  /** Turns a statement into a comment, with a note. */
  commentOut(node: Node, note: string): void {
    const text = oneLine(note);
    const statement = statementOf(node);
    this.edits.once(`out ${statement.getStart()}`, () => {
      this.#out.push(rangeOf(statement));
      this.#notes.push({ path: this.path, line: node.getStartLineNumber(), text, ...rangeOf(statement) });
      const indent = this.indentAt(statement.getStart());
      const lines = statement
        .getText()
        .split(LINE_END)
        .map((line) => line.replace(indent, ""));
      const all = [
        `// TODO(mcp-edge): ${text} See ${guideOf(this.kit)}`,
        ...lines.map((line) => `// ${line}`.trimEnd()),
      ];
      this.edits.replace(rangeOf(statement), all.join(this.newline + indent));
    });
  }

  /** Removes a statement with its line. */
  remove(node: Node): void {
    const { start, end } = rangeOf(node);
    this.#removeRange(start, end);
  }

  #removeRange(start: number, end: number): void {
    let [from, to] = [start, end];
    while (from > 0 && (this.text[from - 1] === " " || this.text[from - 1] === "\t")) from -= 1;
    const isLineStart = from === 0 || this.text[from - 1] === "\n";
    const rest = /^[ \t]*\r?\n/.exec(this.text.slice(to));
    if (isLineStart && rest) {
      to += rest[0].length;
      // Of the empty lines before and after the statement, one is left.
      const next =
        /(^|\{[ \t]*\r?\n|\n[ \t]*\r?\n)$/.test(this.text.slice(0, from)) && /^[ \t]*\r?\n/.exec(this.text.slice(to));
      if (next) to += next[0].length;
    } else from = start;
    this.edits.replace({ start: from, end: to }, "");
  }

  /** Removes a statement with the comments directly before it. A comment at the start of the file stays. */
  removeWithComments(node: Node): void {
    let start = node.getStart();
    for (const comment of [...node.getLeadingCommentRanges()].reverse()) {
      const between = this.text.slice(comment.getEnd(), start);
      if (comment.getPos() === 0 || between.split("\n").length !== 2) break;
      start = comment.getPos();
    }
    this.#removeRange(start, node.getEnd());
  }

  /** The white space at the start of the line of a position. */
  indentAt(position: number): string {
    const line = this.text.slice(this.text.lastIndexOf("\n", position - 1) + 1, position);
    return /^[ \t]*/.exec(line)?.[0] ?? "";
  }

  /** The line break of the file. */
  get newline(): string {
    return this.text.includes("\r\n") ? "\r\n" : "\n";
  }

  /** The name under which zod is available in this file. */
  zod(): string {
    for (const declaration of this.file.getImportDeclarations()) {
      if (!/^zod(\/|$)/.test(declaration.getModuleSpecifierValue())) continue;
      const namespace = declaration.getNamespaceImport()?.getText() ?? declaration.getDefaultImport()?.getText();
      const named = declaration.getNamedImports().find((each) => each.getName() === "z");
      const name = namespace ?? named?.getAliasNode()?.getText() ?? named?.getName();
      if (name !== undefined && !declaration.isTypeOnly()) return name;
    }
    this.need("zod", "* as z");
    return "z";
  }
}

/** The range of a node without the white space and the comments before it. */
export function rangeOf(node: Node): Range {
  return { start: node.getStart(), end: node.getEnd() };
}

/** Which class of an old kit the value of an expression is an instance of. */
export function oldClass(node: Node): string | undefined {
  return oldType(node.getType());
}

/** Which class of an old kit a type is. */
export function oldType(type: Type): string | undefined {
  const member = type.getNonNullableType().getProperty("__old");
  const value = member?.getValueDeclaration()?.getType().getLiteralValue();
  return typeof value === "string" ? value : undefined;
}

/** Whether the value of an expression is a schema of zod; undefined if its type is not known. */
export function isSchema(node: Node): boolean | undefined {
  const type = node.getType();
  if (type.isAny() || type.isUnknown()) return undefined;
  return type.getProperty("__zod") !== undefined;
}

/** The statement that contains a node, or the member of a class. */
export function statementOf(node: Node): Node {
  const found = [node, ...node.getAncestors()].find(
    (each) => Node.isStatement(each) && !Node.isBlock(each) && !isBodyOf(each),
  );
  const member = [node, ...node.getAncestors()].find((each) => isMember(each));
  if (member && found && member.getPos() > found.getPos()) return member;
  return found ?? node;
}

function isMember(node: Node): boolean {
  return Node.isMethodDeclaration(node) || Node.isPropertyDeclaration(node) || Node.isGetAccessorDeclaration(node);
}

/** Whether a statement is the body of an `if` or a loop without braces. A note before it would not stay with it. */
function isBodyOf(node: Node): boolean {
  const parent = node.getParent();
  return (
    parent !== undefined &&
    !Node.isBlock(parent) &&
    !Node.isSourceFile(parent) &&
    !Node.isModuleBlock(parent) &&
    !Node.isCaseClause(parent) &&
    !Node.isDefaultClause(parent)
  );
}

/** Returns the function, if it is defined inline. */
export function asFunction(node: Node | undefined) {
  return Node.isArrowFunction(node) || Node.isFunctionExpression(node) ? node : undefined;
}

/** Whether a node is a function with parameters and a body of its own. */
export function isFunction(node: Node | undefined) {
  return Node.isFunctionDeclaration(node) || Node.isFunctionExpression(node) || Node.isArrowFunction(node);
}

/** Removes parentheses, `as` and `satisfies`. */
export function unwrap(node: Node | undefined): Node | undefined {
  let found = node;
  while (Node.isParenthesizedExpression(found) || Node.isAsExpression(found) || Node.isSatisfiesExpression(found)) {
    found = found.getExpression();
  }
  return found;
}

/** Follows a name to the value of its declaration. */
export function followName(node: Node | undefined): Node | undefined {
  const inner = unwrap(node);
  if (!Node.isIdentifier(inner)) return inner;
  const symbol = inner.getSymbol();
  const declaration = (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations()[0];
  if (Node.isVariableDeclaration(declaration)) return unwrap(declaration.getInitializer());
  return declaration;
}
