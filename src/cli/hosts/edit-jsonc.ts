/**
 * Changes one member of a JSON file with comments, and keeps every other character of it.
 *
 * @module
 */
import { applyEdits, type FormattingOptions, findNodeAtLocation, modify, type Node } from "jsonc-parser";
import { readJsonc } from "../../node/jsonc.ts";

/**
 * Returns a text in which `object.name` has a value. What does not exist is added at the end of its object.
 *
 * @param object The member of the file's object that holds the entries, such as `mcpServers`.
 * @throws {SyntaxError} if the text is not a JSON object, apart from comments and trailing commas, or has a member twice.
 */
export function setEntry(text: string, object: string, name: string, value: unknown): string {
  const style = detectStyle(text);
  if (text.trim() === "") return `${JSON.stringify({ [object]: { [name]: value } }, undefined, 2)}\n`;
  const { root } = readJsonc(text);
  if (root.type !== "object") throw new SyntaxError("The file is not a JSON object.");
  checkOnce(root, object);
  const holder = findNodeAtLocation(root, [object]);
  if (holder && holder.type !== "object") {
    throw new SyntaxError(`The member ${JSON.stringify(object)} is not an object.`);
  }
  if (holder) checkOnce(holder, name);
  // jsonc-parser has no byte order mark.
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const path = holder ? [object, name] : [object];
  const edits = modify(text.slice(mark.length), path, holder ? value : { [name]: value }, { formattingOptions: style });
  return mark + applyEdits(text.slice(mark.length), edits);
}

/** Hosts use one of two members with the same name, and it is not known which. @throws {SyntaxError} naming the member. */
function checkOnce(object: Node, name: string): void {
  const found = object.children?.filter(({ children }) => children?.[0]?.value === name) ?? [];
  if (found.length > 1) throw new SyntaxError(`The member ${JSON.stringify(name)} occurs twice.`);
}

function detectStyle(text: string): FormattingOptions {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  return indent.startsWith("\t")
    ? { insertSpaces: false, tabSize: 1, eol }
    : { insertSpaces: true, tabSize: indent.length, eol };
}
