/**
 * Writes the code of a tool.
 *
 * @module
 */
import type { Body } from "./bodies.ts";
import { encodeLiteral } from "./examples.ts";
import type { Pages } from "./pages.ts";
import { wayOf } from "./parameters.ts";
import { memberName, memberOf, quote } from "./text.ts";
import type { Argument, Tool } from "./tools.ts";
import { toZod } from "./zod.ts";

/** The maximum width of a line. Longer lists have one member per line. */
const WIDTH = 110;

/** Returns the code that defines a tool, in a region that is named after the method and path of its operation. */
export function writeTool(tool: Tool, auth: readonly string[] | undefined): string {
  const { operation, name, title, text, output, pages } = tool;
  const hints = Object.entries(tool.listed.annotations).map(([hint, value]) => `${hint}: ${value}`);
  const how = output !== undefined ? "data" : pages === undefined ? "call" : "pages";
  const usesArguments = tool.arguments.length > 0;
  const members = [...requestMembers(tool), ...(auth === undefined ? [] : [`auth: [${auth.map(quote).join(", ")}]`])];
  const rest = pages === undefined || how !== "pages" ? "" : `, ${writePages(pages)}`;
  return [
    `  // #region ${regionName(operation.id)}`,
    "  server.tool(",
    `    ${quote(name)},`,
    "    {",
    ...(title === undefined ? [] : [`      title: ${quote(title)},`]),
    `      description: ${quote(text)},`,
    `      input: ${toZod({ kind: "object", isOpen: false, members: tool.arguments }, "      ")},`,
    ...(output === undefined ? [] : [`      output: ${toZod(output, "      ")},`]),
    `      annotations: { ${hints.join(", ")} },`,
    "    },",
    `    (${usesArguments ? "args" : "_args"}, ctx) => api.${how}(ctx, ${wrap(members, "    ")}${rest}),`,
    "  );",
    "  // #endregion",
  ].join("\n");
}

/** Returns the name of the region of an operation. */
export function regionName(id: string): string {
  // A path has neither white space nor invisible characters.
  return id;
}

function requestMembers(tool: Tool): string[] {
  const { operation } = tool;
  const at = (place: string) => tool.arguments.filter(({ target }) => target.place === place);
  const query = at("query").map(parameterMember);
  const generated = operation.parameters.filter(({ isGenerated = false }) => isGenerated);
  const headers = [
    ...at("header").map(parameterMember),
    ...generated.map(({ name }) => `${memberName(name)}: crypto.randomUUID()`),
  ];
  return [
    ...(operation.method === "GET" ? [] : [`method: ${quote(operation.method)}`]),
    `path: ${writePath(tool)}`,
    ...(query.length === 0 ? [] : [`query: ${wrap(query)}`]),
    ...(headers.length === 0 ? [] : [`headers: ${wrap(headers)}`]),
    ...bodyMembers(tool),
  ];
}

function bodyMembers({ operation, arguments: all }: Tool): string[] {
  const { body } = operation;
  if (body === undefined) return [];
  const whole = all.find(({ target }) => target.place === "body");
  const members = all.filter(({ target }) => target.place === "member");
  const member = body.type === "form" ? parameterMember : (each: Argument) => `${targetName(each)}: ${read(each)}`;
  const value =
    whole === undefined ? wrap(members.map(member)) : body.type === "form" ? wholeForm(body, whole) : read(whole);
  const usual = { json: "application/json", form: "application/x-www-form-urlencoded", text: "text/plain" }[body.type];
  const isUsual = body.mediaType.toLowerCase() === usual;
  return [`${body.type}: ${value}`, ...(isUsual ? [] : [`contentType: ${quote(body.mediaType)}`])];
}

/** Writes a form that is a single argument, with the styles of its members. */
function wholeForm({ styles }: Body, whole: Argument): string {
  const listed = [...styles].filter(([, style]) => style !== "repeated");
  const own = listed.map(([name, style]) => `${memberName(name)}: ${quote(style)}`);
  return `api.members(${read(whole)}${own.length === 0 ? "" : `, { ${own.join(", ")} }`})`;
}

function writePath({ operation, arguments: all }: Tool): string {
  const parts = operation.path.split(/(\{[^{}]*\})/);
  const hasValues = parts.length > 1;
  const code = parts.map((part) => {
    const name = /^\{([^{}]*)\}$/.exec(part)?.[1];
    const argument = all.find(({ target }) => target.place === "path" && target.name === name);
    // Only characters of URLs remain, so the text can end neither the template nor the string.
    return name === undefined || argument === undefined ? encodeLiteral(part) : `\${${read(argument)}}`;
  });
  return hasValues ? `api.path\`${code.join("")}\`` : quote(code.join(""));
}

/** Writes a parameter of the query, a header, or a member of a form. */
function parameterMember(argument: Argument): string {
  const { target, shape } = argument;
  if (target.place === "body") return "";
  const [name, value] = [targetName(argument), read(argument)];
  const separator = { space: ', " "', pipe: ', "|"' }[target.style as "space"] ?? "";
  switch (wayOf(target.style, shape)) {
    case "deep":
      return `...api.deep(${quote(target.name)}, ${value})`;
    case "members":
      return `...api.members(${value})`;
    case "joined":
      return `${name}: api.joined(${value}${separator})`;
    case "pairs":
      return `${name}: api.joined(${value}, ",", "=")`;
    case "json":
      return `${name}: api.json(${value})`;
    case "value":
      return `${name}: ${value}`;
  }
}

function targetName({ target }: Argument): string {
  return "name" in target ? memberName(target.name) : "body";
}

function read({ name }: Argument): string {
  return memberOf("args", name);
}

function writePages({ by, parameter, first, items, next, size }: Pages): string {
  const list = (names: readonly string[]) => `[${names.map(quote).join(", ")}]`;
  const members = [
    `by: ${quote(by)}`,
    ...(first === undefined ? [] : [`first: ${first}`]),
    `parameter: ${quote(parameter)}`,
    `items: ${list(items)}`,
    ...(next === undefined ? [] : [`next: ${list(next)}`]),
    ...(size === undefined ? [] : [`size: ${quote(size)}`]),
  ];
  return wrap(members, "    ");
}

/** Writes an object on one line if it fits, or with a line for each member. */
function wrap(members: readonly string[], indent = ""): string {
  if (members.length === 0) return "{}";
  const line = `{ ${members.join(", ")} }`;
  if (line.length + indent.length <= WIDTH && !line.includes("\n")) return line;
  return `{\n${members.map((member) => `${indent}  ${member.replaceAll("\n", `\n${indent}  `)},`).join("\n")}\n${indent}}`;
}
