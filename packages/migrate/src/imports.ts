/**
 * Imports: keeps those of the old kits that are still used, and adds those that the new code needs.
 *
 * @module
 */
import { type Identifier, type ImportDeclaration, Node, SyntaxKind } from "ts-morph";
import { CLIENT_MODULE, kitOf } from "./old-kits.ts";
import type { Unit } from "./unit.ts";

/** The replacements for names of the old kits: the module and the name. */
const REPLACED: Readonly<Record<string, readonly [module: string, name: string]>> = {
  McpServer: ["mcp-edge", "McpServer"],
  Server: ["mcp-edge", "McpServer"],
  McpError: ["mcp-edge", "McpError"],
  ProtocolError: ["mcp-edge", "McpError"],
  ErrorCode: ["mcp-edge", "ErrorCode"],
  ProtocolErrorCode: ["mcp-edge", "ErrorCode"],
  CallToolResult: ["mcp-edge", "type ToolResult"],
  GetPromptResult: ["mcp-edge", "type PromptReturn"],
  ReadResourceResult: ["mcp-edge", "type ReadResult"],
  RequestHandlerExtra: ["mcp-edge", "type HandlerContext"],
  serveStdio: ["mcp-edge/node", "serveStdio"],
  ServerContext: ["mcp-edge", "type HandlerContext"],
  inputRequired: ["mcp-edge", "inputRequired"],
  InputRequiredResult: ["mcp-edge", "type InputRequired"],
};

/** Types of the old kits that have the same name in this kit. */
const SAME_TYPES =
  "Annotations AudioContent BlobResourceContents ClientCapabilities ContentBlock ElicitResult EmbeddedResource Icon ImageContent Implementation LoggingLevel PromptArgument PromptMessage RequestId ResourceLink Root TextContent TextResourceContents ToolAnnotations";
const SAME: ReadonlySet<string> = new Set(SAME_TYPES.split(" "));

/** Returns what replaces an imported name. */
export function replacementOf(imported: string): readonly [module: string, name: string] | undefined {
  if (SAME.has(imported)) return ["mcp-edge", `type ${imported}`];
  return Object.hasOwn(REPLACED, imported) ? REPLACED[imported] : undefined;
}

const bare = (name: string) => name.replace(/^type /, "");

/** Renames imports that have another name in this kit, removes unused imports of the old kits, and adds the imports of the new code. */
export function writeImports(unit: Unit): void {
  const old = unit.file
    .getImportDeclarations()
    .filter((each) => kitOf(each.getModuleSpecifierValue()) !== undefined && !isUntouched(unit, each));
  for (const declaration of old) renameLive(unit, declaration);
  const isLive = livenessOf(unit);
  const left = new Map(old.map((declaration) => [declaration, leftOf(unit, declaration, isLive)]));
  const added = neededImports(unit);
  const [first] = old;
  for (const [declaration, names] of left) {
    if (names.length > 0) keepNames(unit, declaration, names);
    else if (declaration === first && added.length > 0) unit.replace(declaration, "");
    else unit.remove(declaration);
  }
  removeUnused(unit, isLive);
  if (added.length === 0) return;
  const text = added.join(unit.newline);
  const isReplaced = first !== undefined && left.get(first)?.length === 0;
  const at = first ?? unit.file.getImportDeclarations()[0] ?? unit.file.getStatements()[0];
  unit.edits.insert(at?.getStart() ?? 0, text + (isReplaced ? "" : unit.newline));
}

/** Removes other imports that have become unused because the code that used them was removed. */
function removeUnused(unit: Unit, isLive: (node: Node) => boolean): void {
  // The new code also contains names of types, so its text is searched.
  const code = unit.edits.apply().text.replaceAll(/^import [^;]*;/gm, "");
  const isWritten = (name: Node) => new RegExp(`\\b${name.getText().replaceAll("$", "\\$")}\\b`).test(code);
  for (const declaration of unit.file.getImportDeclarations()) {
    const module = declaration.getModuleSpecifierValue();
    if (module === "zod/v3") unit.replace(declaration.getModuleSpecifier(), '"zod"');
    // Other files of the project are renamed by the step that migrates them.
    if (kitOf(module) !== undefined || module.startsWith(".")) continue;
    const named = declaration.getNamedImports().map((each) => each.getAliasNode() ?? each.getNameNode());
    const names = [declaration.getNamespaceImport(), declaration.getDefaultImport(), ...named].filter(
      (each) => each !== undefined,
    );
    const used = names.map((name) => references(unit, name));
    if (used.some((all) => all.length > 0) && !used.some((all) => all.some(isLive)) && !names.some(isWritten))
      unit.remove(declaration);
  }
}

/** Returns a function that tells whether the text of a node is still part of the file. */
function livenessOf(unit: Unit): (node: Node) => boolean {
  const { kept } = unit.edits.apply();
  return (node) => kept.some(({ start, end }) => node.getStart() >= start && node.getEnd() <= end);
}

function renameLive(unit: Unit, declaration: ImportDeclaration): void {
  const isLive = livenessOf(unit);
  for (const specifier of declaration.getNamedImports()) {
    const replacement = replacementOf(specifier.getName());
    if (!replacement) continue;
    const [module, written] = replacement;
    const name = bare(written);
    for (const reference of references(unit, specifier.getAliasNode() ?? specifier.getNameNode()).filter(isLive)) {
      unit.need(module, declaration.isTypeOnly() || specifier.isTypeOnly() ? `type ${name}` : written);
      const type = reference.getParentIfKind(SyntaxKind.TypeReference);
      if (name === "HandlerContext" && type) unit.replace(type, name);
      else if (name !== reference.getText()) unit.replace(reference, name);
    }
  }
}

/** The names of an import that are still used and have no counterpart. */
function leftOf(unit: Unit, declaration: ImportDeclaration, isLive: (node: Node) => boolean): string[] {
  const named = declaration.getNamedImports().filter((specifier) => {
    if (replacementOf(specifier.getName())) return false;
    return references(unit, specifier.getAliasNode() ?? specifier.getNameNode()).some(isLive);
  });
  const whole = declaration.getNamespaceImport() ?? declaration.getDefaultImport();
  const isWholeLive = whole !== undefined && references(unit, whole).some(isLive);
  return [...(isWholeLive ? [WHOLE] : []), ...named.map((each) => each.getText())];
}

const WHOLE = "*";

function keepNames(unit: Unit, declaration: ImportDeclaration, names: readonly string[]): void {
  const module = declaration.getModuleSpecifierValue();
  if (names.includes(WHOLE)) {
    unit.todo(declaration, `${module} is still used.`);
    return;
  }
  const listed = names.map((each) => each.replace(/^type /, "")).join(", ");
  unit.todo(declaration, `${listed} of ${module} ${names.length > 1 ? "have" : "has"} no counterpart.`);
  const clause = declaration.getImportClause();
  if (clause) unit.replace(clause, `${declaration.isTypeOnly() ? "type " : ""}{ ${names.join(", ")} }`);
}

/** A client of the SDK is not migrated, so its imports stay. */
function isUntouched(unit: Unit, declaration: ImportDeclaration): boolean {
  return CLIENT_MODULE.test(declaration.getModuleSpecifierValue()) || (unit.edits.size === 0 && unit.todos.length > 0);
}

function references(unit: Unit, name: Node): Identifier[] {
  if (!Node.isIdentifier(name)) return [];
  return unit.file
    .getDescendantsOfKind(SyntaxKind.Identifier)
    .filter(
      (each) =>
        each.getText() === name.getText() &&
        !each.getFirstAncestorByKind(SyntaxKind.ImportDeclaration) &&
        isReference(each),
    );
}

/** Whether an identifier is a reference, and not the name of a member. */
function isReference(node: Identifier): boolean {
  const parent = node.getParent();
  if (Node.isPropertyAccessExpression(parent)) return parent.getNameNode() !== node;
  if (
    Node.isPropertyAssignment(parent) ||
    Node.isMethodDeclaration(parent) ||
    Node.isPropertyDeclaration(parent) ||
    Node.isPropertySignature(parent)
  ) {
    return parent.getNameNode() !== node;
  }
  return true;
}

/** The imports to add, without those that the file has. */
function neededImports(unit: Unit): string[] {
  const lines: string[] = [];
  for (const [module, names] of unit.needs) {
    const existing = unit.file.getImportDeclarations().filter((each) => each.getModuleSpecifierValue() === module);
    const has = new Set(existing.flatMap((each) => each.getNamedImports().map((name) => name.getName())));
    const wanted = [...names].filter(
      (name) => !has.has(bare(name)) && !(name.startsWith("type ") && names.has(bare(name))),
    );
    const star = wanted.find((name) => name.startsWith("* as "));
    if (star) lines.push(`import ${star} from "${module}";`);
    const listed = wanted.filter((name) => !name.startsWith("* as ")).sort((a, b) => (bare(a) < bare(b) ? -1 : 1));
    if (listed.length === 0) continue;
    const allTypes = listed.every((name) => name.startsWith("type "));
    lines.push(
      allTypes
        ? `import type { ${listed.map(bare).join(", ")} } from "${module}";`
        : `import { ${listed.join(", ")} } from "${module}";`,
    );
  }
  return lines;
}
