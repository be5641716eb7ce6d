/**
 * Changes one member of a JSON file with comments, and leaves the rest of the file unchanged.
 *
 * @module
 */
import { applyEdits, type FormattingOptions, findNodeAtLocation, modify, type Node } from "jsonc-parser";
import { readJsonc } from "../../node/jsonc.ts";

/**
 * Returns the text with `object.name` set to a value. A missing member is added at the end of its object.
 *
 * @param object The name of the top-level member that contains the entries, such as `mcpServers`.
 * @throws {SyntaxError} if the text is not a JSON object (with comments and trailing commas allowed), or has a duplicate member.
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
  // jsonc-parser does not accept a byte order mark.
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const path = holder ? [object, name] : [object];
  const edits = modify(text.slice(mark.length), path, holder ? value : { [name]: value }, { formattingOptions: style });
  return mark + applyEdits(text.slice(mark.length), edits);
}

/** Refuses duplicate members, because it is unknown which one the host uses. @throws {SyntaxError} naming the member. */
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
