/**
 * Human-readable output: results, lists and contents.
 *
 * @module
 */
import type {
  CallToolResult,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  ReceivedContentBlock,
  Resource,
  ResourceContents,
  ResourceTemplate,
  ServerFacts,
  Tool,
} from "../../client/index.ts";
import { isObject } from "../../core/protocol/jsonrpc.ts";
import { listArguments } from "../arguments/arguments.ts";
import { Exit } from "../exit.ts";
import { oneLine, type Paint, resultLine, type Terminal, toJson } from "./terminal.ts";

/** Prints a value as JSON. */
export function printJson(terminal: Terminal, value: unknown): void {
  terminal.print(toJson(value, 2));
}

/** Prints the result of a call. Structured content is printed only if there is no other content. */
function printResult(terminal: Terminal, { content, structuredContent }: CallToolResult): void {
  if (content.length === 0 && structuredContent !== undefined) printJson(terminal, structuredContent);
  for (const block of content) terminal.printData(formatBlock(terminal, block));
}

/** Prints the result of a call. Returns the exit code. */
export function showCallResult(
  result: CallToolResult,
  { json }: { readonly json?: boolean },
  terminal: Terminal,
): number {
  if (json) printJson(terminal, result);
  else printResult(terminal, result);
  if (!result.isError) return Exit.ok;
  if (!json) terminal.note(terminal.err.red("The tool failed."));
  return Exit.toolError;
}

function formatBlock(terminal: Terminal, block: ReceivedContentBlock): string {
  const { out } = terminal;
  // A value that is not a valid block is printed unchanged.
  if (!isShown(block)) return toJson(block, 2);
  switch (block.type) {
    case "text":
      return withoutEnd(block.text);
    case "image":
    case "audio":
      return out.dim(describeBytes(block.type, block.mimeType, block.data));
    case "resource":
      return formatContents(terminal, block.resource);
    case "resource_link":
      return `${out.bold(resultLine(block.name))} ${resultLine(block.uri, 500)}`;
    default:
      // A kind of block that a later version adds.
      return toJson(block, 2);
  }
}

/** Whether a value is a block with the members that are printed for its kind. */
function isShown(block: unknown): block is ReceivedContentBlock {
  if (!isObject(block)) return false;
  const { type, text, data, resource } = block;
  if (type === "text") return typeof text === "string";
  if (type === "image" || type === "audio") return typeof data === "string";
  return type === "resource" ? isObject(resource) : true;
}

function formatContents(terminal: Terminal, contents: ResourceContents): string {
  if ("text" in contents && typeof contents.text === "string") return withoutEnd(contents.text);
  const { blob, mimeType, uri } = contents as { blob?: unknown; mimeType?: string; uri: string };
  const bytes = describeBytes("bytes", mimeType, typeof blob === "string" ? blob : "");
  return terminal.out.dim(`${bytes} ${resultLine(uri, 500)}`);
}

/** Removes the line break at the end, because printing adds one. */
function withoutEnd(text: string): string {
  return text.replace(/\n$/, "");
}

function describeBytes(kind: string, mimeType: string | undefined, base64: string): string {
  const bytes = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
  const size = bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`;
  return `[${kind}${mimeType === undefined ? "" : ` ${oneLine(mimeType)}`}, ${size}]`;
}

/** Prints the contents of a resource. Bytes are written unchanged if the output goes to a file or another program. */
export function printResource(terminal: Terminal, { contents }: ReadResourceResult): void {
  for (const [index, each] of contents.entries()) {
    if (contents.length > 1) terminal.note(`${index === 0 ? "" : "\n"}${terminal.err.dim(oneLine(each.uri, 500))}`);
    if ("blob" in each && typeof each.blob === "string" && !terminal.showsOutput) {
      terminal.write(Buffer.from(each.blob, "base64"));
    } else terminal.printData(formatContents(terminal, each));
  }
}

/** Prints the messages of a prompt. */
export function printPrompt(terminal: Terminal, { description, messages }: GetPromptResult): void {
  if (description !== undefined) terminal.note(terminal.err.dim(oneLine(description, 500)));
  for (const { role, content } of messages) {
    terminal.print(terminal.out.bold(`${oneLine(role)}:`));
    terminal.printData(formatBlock(terminal, content));
  }
}

/** What a server offers, as `list` shows it. Lists that were not requested are undefined. */
export interface Offer {
  readonly server: ServerFacts;
  readonly tools?: readonly Tool[];
  readonly prompts?: readonly Prompt[];
  readonly resources?: readonly Resource[];
  readonly resourceTemplates?: readonly ResourceTemplate[];
}

/** Prints what a server offers. */
export function printOffer(terminal: Terminal, offer: Offer): void {
  const { out } = terminal;
  const { info, protocolVersion } = offer.server;
  terminal.note(
    terminal.err.dim(
      `${oneLine(info?.name ?? "a server without a name")} ${oneLine(info?.version ?? "")} (${protocolVersion})`,
    ),
  );
  section(terminal, "Tools", offer.tools, (tool) => [
    describeSignature(tool, out),
    describeHints(tool, out),
    tool.description,
  ]);
  section(terminal, "Prompts", offer.prompts, (prompt) => [describePrompt(prompt, out), "", prompt.description]);
  section(terminal, "Resources", offer.resources, ({ uri, name, description }) => {
    return [out.bold(oneLine(uri, 500)), "", description ?? (name === uri ? undefined : name)];
  });
  section(terminal, "Resource templates", offer.resourceTemplates, ({ uriTemplate, name, description }) => {
    return [out.bold(oneLine(uriTemplate, 500)), "", description ?? name];
  });
}

/** How an item is printed: its heading, the marks after the heading, and its description. */
type Lines = readonly [heading: string, marks: string, description: string | undefined];

function section<T>(
  { print, out }: Terminal,
  title: string,
  items: readonly T[] | undefined,
  lines: (item: T) => Lines,
): void {
  if (items === undefined || items.length === 0) return;
  print(out.cyan(title));
  for (const item of items) {
    const [heading, marks, description] = lines(item);
    print(`  ${heading}${marks === "" ? "" : ` ${marks}`}`);
    if (description) print(`      ${out.dim(oneLine(description))}`);
  }
}

function describeSignature(tool: Tool, out: Paint): string {
  const args = listArguments(tool.inputSchema).map(({ name, kind, isList, isRequired }) => {
    return `${oneLine(name, 60)}${isRequired ? "" : "?"}: ${kind === "json" ? "object" : kind}${isList ? "[]" : ""}`;
  });
  return `${out.bold(oneLine(tool.name))}(${args.join(", ")})`;
}

function describePrompt(prompt: Prompt, out: Paint): string {
  const { name } = prompt;
  const args = getParameters(prompt).map((each) => `${oneLine(each.name, 60)}${each.required ? "" : "?"}`);
  return `${out.bold(oneLine(name))}(${args.join(", ")})`;
}

/** Returns the parameters of a prompt; an empty list if the server sends an invalid one. */
export function getParameters({ arguments: parameters = [] }: Prompt): NonNullable<Prompt["arguments"]> {
  return Array.isArray(parameters) ? parameters.filter((each) => typeof each === "object" && each !== null) : [];
}

function describeHints({ annotations }: Tool, out: Paint): string {
  if (annotations?.readOnlyHint === true) return out.green("read-only");
  return annotations?.destructiveHint === false ? "" : out.yellow("may destroy");
}
