/**
 * Reads the public surface of the package from the emitted declarations: the names that each entry of `exports` in
 * package.json provides. It uses the API of TypeScript 7, which is not declared stable yet; package.json therefore
 * requires one exact version of TypeScript.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ClassDeclaration,
  type HeritageClause,
  type InterfaceDeclaration,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast";
import { API, type Project, SymbolFlags, type Symbol as TsSymbol } from "typescript/unstable/sync";
import { ROOT } from "../tools.ts";

const DIST = `${ROOT}dist/`;

/** A member of an interface, a class, an object type or an enumeration. */
export interface Member {
  readonly name: string;
  /** The declaration, without its comment. */
  readonly text: string;
  /** The doc comment without its tags; empty if there is none. */
  readonly doc: string;
  /** The tags of the doc comment, each with its text. */
  readonly tags: readonly (readonly [name: string, text: string])[];
  readonly isOptional: boolean;
  /** The declared type; undefined for members without one, such as methods. */
  readonly type: string | undefined;
}

/** A declaration of the package. */
export interface Declared {
  readonly name: string;
  /** The path of its declaration file, relative to `dist`. */
  readonly file: string;
}

/** A name that an entry exports, or an interface that an exported one extends. */
export interface PublicName extends Declared {
  readonly isExported: boolean;
  /** Its declarations, without comments and without members that are not public. */
  readonly text: string;
  readonly doc: string;
  readonly tags: Member["tags"];
  readonly members: readonly Member[];
  /** Members of the interfaces that it extends, without those that `Omit` leaves out. */
  readonly inherited: readonly Member[];
  /** Other declarations of the package that the declaration refers to. */
  readonly mentions: readonly Declared[];
  /** Names of the interfaces of the package that this one extends. */
  readonly bases: readonly string[];
}

/** The exports of one entry of the package. */
export interface Entry {
  /** The import specifier, such as `mcp-edge/worker`. */
  readonly module: string;
  /** The path of its declaration file, relative to `dist`. */
  readonly file: string;
  readonly names: readonly PublicName[];
}

interface Exports {
  readonly [path: string]: string | { readonly types?: string };
}

/** The entries that have types, in the order of package.json. */
function entryFiles(): { module: string; file: string }[] {
  const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as { exports: Exports };
  return Object.entries(exports).flatMap(([path, target]) => {
    const types = typeof target === "string" ? undefined : target.types;
    return types ? [{ module: join("mcp-edge", path), file: types.replace("./dist/", "") }] : [];
  });
}

/** Reads the built package: run `npm run build` first. */
export function readSurface(): Entry[] {
  const entries = entryFiles();
  const missing = entries.find(({ file }) => !existsSync(DIST + file));
  if (missing) throw new Error(`dist/${missing.file} does not exist. Run npm run build first.`);
  // A separate configuration that includes only declarations. Its name is unique, because tests may run concurrently.
  const config = `${DIST}tsconfig.surface-${process.pid}.json`;
  const include = entries.map(({ file }) => `./${file}`);
  writeFileSync(config, JSON.stringify({ extends: "../tsconfig.json", include: [], files: include, exclude: [] }));
  const api = new API({ cwd: ROOT });
  try {
    const [project] = api.updateSnapshot({ openProjects: [config] }).getProjects();
    if (!project) throw new Error("TypeScript did not open the declarations in dist.");
    return entries.map((entry) => ({ ...entry, names: namesOf(project, entry.file) }));
  } finally {
    api.close();
    rmSync(config, { force: true });
  }
}

function namesOf(project: Project, file: string): PublicName[] {
  const source = project.program.getSourceFile(DIST + file);
  const module = source && project.checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`TypeScript found no exports in dist/${file}.`);
  const symbols = new Map<TsSymbol, boolean>(project.checker.getExportsOfModule(module).map((each) => [each, true]));
  const names: PublicName[] = [];
  // The map grows during the loop: an unexported interface is public if an exported one extends it.
  for (const [symbol, isExported] of symbols) {
    const nodes = declarationsOf(project, symbol);
    if (nodes.length === 0) continue;
    const bases = nodes.flatMap((node) => basesOf(project, node));
    for (const base of bases) if (!symbols.has(base)) symbols.set(base, false);
    const inherited = bases.length > 0 ? inheritedBy(project, nodes) : [];
    names.push({ ...nameOf(project, symbol.name, nodes, isExported, bases), inherited });
  }
  return unique(names).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Removes duplicates: an alias and its target are two symbols with one declaration. */
function unique(names: readonly PublicName[]): PublicName[] {
  const found = new Map<string, PublicName>();
  for (const name of names) {
    const key = `${name.file} ${name.name}`;
    if (!found.has(key) || name.isExported) found.set(key, name);
  }
  return [...found.values()];
}

/** Returns the declarations of a symbol, or of an alias's target, that are within the package. */
function declarationsOf(project: Project, symbol: TsSymbol): Node[] {
  const [first] = symbol.declarations;
  const node = first?.resolve(project);
  const isAlias = node?.kind === SyntaxKind.ExportSpecifier || node?.kind === SyntaxKind.ImportSpecifier;
  const target = isAlias ? project.checker.getAliasedSymbol(symbol) : symbol;
  return target.declarations
    .map((handle) => handle.resolve(project))
    .filter((each) => each !== undefined)
    .filter((each) => each.getSourceFile().fileName.startsWith(DIST));
}

function nameOf(
  project: Project,
  name: string,
  nodes: readonly Node[],
  isExported: boolean,
  bases: readonly TsSymbol[],
): Omit<PublicName, "inherited"> {
  const [first] = nodes;
  const file = first ? fileOf(first) : "";
  const members = nodes.flatMap((node) => membersOf(node).filter(isPublic));
  const docs = nodes.map(docOf).filter(({ doc }) => doc !== "");
  return {
    name,
    file,
    isExported,
    text: nodes.map(textOf).join("\n"),
    doc: docs[0]?.doc ?? "",
    tags: docs.flatMap(({ tags }) => tags),
    members: groupOverloads(members),
    mentions: nodes.flatMap((node) => mentionsOf(project, node)),
    bases: bases.map((base) => base.name),
  };
}

/** Members that the declarations themselves do not have. */
function inheritedBy(project: Project, nodes: readonly Node[]): Member[] {
  const [first] = nodes;
  const type = first && project.checker.getTypeAtLocation(first);
  const own = new Set(nodes.flatMap(membersOf).map(({ name }: MemberNode) => (name ? textOf(name) : "")));
  const properties = type ? project.checker.getPropertiesOfType(type) : [];
  return properties
    .filter(({ name }) => !own.has(name))
    .flatMap((each) => {
      // `Partial` makes members optional, which their declarations do not show.
      const isOptional = (each.flags & SymbolFlags.Optional) !== 0;
      const members = groupOverloads(declarationsOf(project, each).filter(isPublic));
      return members.map((member) => ({ ...member, isOptional }));
    });
}

/** Returns the interfaces of the package that a declaration extends, even inside of `Partial<...>` and the like. */
function basesOf(project: Project, node: Node): TsSymbol[] {
  if (node.kind !== SyntaxKind.InterfaceDeclaration && node.kind !== SyntaxKind.ClassDeclaration) return [];
  const clauses = (node as InterfaceDeclaration | ClassDeclaration).heritageClauses ?? [];
  return [...clauses]
    .filter(({ token }: HeritageClause) => token === SyntaxKind.ExtendsKeyword)
    .flatMap((clause) => identifiersIn(clause))
    .flatMap((identifier) => {
      const symbol = project.checker.getSymbolAtLocation(identifier);
      if (!symbol || declarationsOf(project, symbol).every(({ kind }) => kind !== SyntaxKind.InterfaceDeclaration))
        return [];
      const [handle] = symbol.declarations;
      const isImport = handle?.resolve(project)?.kind === SyntaxKind.ImportSpecifier;
      return [isImport ? project.checker.getAliasedSymbol(symbol) : symbol];
    });
}

function identifiersIn(node: Node): Node[] {
  const found: Node[] = [];
  const visit = (each: Node): undefined => {
    if (each.kind === SyntaxKind.Identifier) found.push(each);
    each.forEachChild(visit);
  };
  node.forEachChild(visit);
  return found;
}

/** Other declarations of the package that this one refers to. */
function mentionsOf(project: Project, node: Node): Declared[] {
  const hidden = membersOf(node).filter((member) => !isPublic(member));
  const isHidden = (each: Node) => hidden.some(({ pos, end }) => each.pos >= pos && each.end <= end);
  return identifiersIn(node).flatMap((identifier) => {
    if (isHidden(identifier) || identifier.parent?.kind !== SyntaxKind.TypeReference) return [];
    const symbol = project.checker.getSymbolAtLocation(identifier);
    const declared = symbol && declarationsOf(project, symbol).find(({ kind }) => kind !== SyntaxKind.TypeParameter);
    return declared ? [{ name: symbol.name, file: fileOf(declared) }] : [];
  });
}

/** Returns the path of a declaration file, relative to `dist`. */
function fileOf(node: Node): string {
  return node.getSourceFile().fileName.slice(DIST.length);
}

/** Members of a declaration: of an interface, a class, an enumeration, or of the object types of an alias or constant. */
function membersOf(node: Node): Node[] {
  const { members } = node as { members?: Iterable<Node> };
  if (members) return [...members];
  const type = (node as { type?: Node }).type;
  return type ? literalMembers(type) : [];
}

/** Members of an object type. Those of a union belong to its parts, which the comment of the union explains. */
function literalMembers(type: Node): Node[] {
  if (type.kind !== SyntaxKind.TypeLiteral) return [];
  const members = [...(type as unknown as { members: Iterable<Node> }).members];
  return members.filter(({ kind }) => kind !== SyntaxKind.IndexSignature);
}

/** The properties that all kinds of members share. */
interface MemberNode extends Node {
  readonly name?: Node;
  readonly type?: Node;
  readonly modifiers?: Iterable<Node>;
  readonly questionToken?: Node;
  readonly postfixToken?: Node;
}

function isPublic(member: Node): boolean {
  const { name, modifiers } = member as MemberNode;
  if (name?.kind === SyntaxKind.PrivateIdentifier) return false;
  if ([...(modifiers ?? [])].some(({ kind }) => kind === SyntaxKind.PrivateKeyword)) return false;
  return !docOf(member).tags.some(([tag]) => tag === "internal");
}

function groupOverloads(members: readonly Node[]): Member[] {
  const found = new Map<string, Member>();
  for (const node of members) {
    const { name, type, questionToken, postfixToken } = node as MemberNode;
    const label = name ? textOf(name) : (NAMELESS.get(node.kind) ?? SyntaxKind[node.kind] ?? "");
    const { doc, tags } = docOf(node);
    const before = found.get(label);
    const isMethod = node.kind === SyntaxKind.MethodSignature || node.kind === SyntaxKind.MethodDeclaration;
    found.set(label, {
      name: label,
      text: [before?.text, textOf(node)].filter(Boolean).join("\n"),
      doc: before?.doc || doc,
      tags: [...(before?.tags ?? []), ...tags],
      isOptional: Boolean(questionToken) || postfixToken?.kind === SyntaxKind.QuestionToken,
      type: type && !isMethod ? textOf(type) : undefined,
    });
  }
  return [...found.values()];
}

const NAMELESS = new Map([
  [SyntaxKind.Constructor, "constructor"],
  [SyntaxKind.ConstructSignature, "new()"],
  [SyntaxKind.CallSignature, "()"],
  [SyntaxKind.IndexSignature, "[index]"],
]);

/** Returns the last doc comment before a declaration. The comment of a constant is before its statement. */
function docOf(node: Node): Pick<Member, "doc" | "tags"> {
  const owner = node.kind === SyntaxKind.VariableDeclaration ? node.parent.parent : node;
  const text = owner.getSourceFile().text.slice(owner.getFullStart(), owner.getStart());
  const [comment] = text.match(/\/\*\*(?:(?!\/\*\*)[\s\S])*?\*\/(?=\s*$)/) ?? [];
  const lines = (comment ?? "")
    .replace(/^\/\*\*/, "")
    .replace(/\*\/$/, "")
    .split("\n");
  const plain = lines.map((line) => line.replace(/^\s*\* ?/, "").trimEnd()).join("\n");
  const [doc = "", ...tags] = plain.split(
    /(?:^|(?<=\s))@(?=(?:default|example|throws|see|param|returns|internal|module|deprecated|template)\b)/,
  );
  return {
    doc: doc.trim(),
    tags: tags.map((tag) => [tag.match(/^\w+/)?.[0] ?? "", tag.replace(/^\w+/, "").trim()] as const),
  };
}

/** Returns the text of a declaration without comments and without members that are not public. */
function textOf(node: Node): string {
  const isConstant = node.kind === SyntaxKind.VariableDeclaration;
  const owner = isConstant ? node.parent.parent : node;
  const whole = owner.getSourceFile().text;
  let [text, from] = ["", owner.getStart()];
  for (const member of membersOf(node).filter((each) => !isPublic(each))) {
    text += whole.slice(from, member.pos);
    from = member.end;
  }
  text += whole.slice(from, owner.end);
  const lines = text.replaceAll(/\/\*\*[\s\S]*?\*\//g, "").split("\n");
  return lines
    .map((line) => line.trimEnd())
    .filter(Boolean)
    .join("\n");
}
