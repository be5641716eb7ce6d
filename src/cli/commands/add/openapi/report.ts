/**
 * Reports which tools were generated, what has changed since the last run, and what the user should do next.
 *
 * @module
 */
import { findExceeded } from "../../../host-profiles/find-limits.ts";
import { titleOf } from "../../../host-profiles/profiles.ts";
import { counted, oneLine, type Terminal } from "../../../terminal/terminal.ts";
import { diffLines } from "../diff.ts";
import type { OfferedTool, ReadAnswer, WriteAnswer } from "./generator.ts";
import type { Recorded } from "./record.ts";

/** The maximum number of operations listed with the reason why they cannot become tools. */
const REFUSED_SHOWN_MAX = 10;
/** The maximum number of pairs of tools that are suggested for combination. */
const RELATED_SHOWN_MAX = 3;
/** The maximum number of tools listed in one message. */
const NAMED_MAX = 10;
/** The approximate size that an argument adds to the list of tools, in bytes. */
const ARGUMENT_BYTES = 100;

/** The outcome of a run. */
export interface Made {
  /** The tools that were chosen. */
  readonly tools: readonly OfferedTool[];
  readonly read: ReadAnswer;
  readonly written: WriteAnswer;
  readonly name: string;
  readonly server: string;
  /** The record of the last run; undefined in the first run. */
  readonly record: Recorded | undefined;
  /** Generated files of an earlier run that this run did not generate again. */
  readonly left: readonly string[];
  /** The names of the other tools in the project, with their files. */
  readonly taken: ReadonlyMap<string, string>;
}

/** Describes the generated tools and what has changed. */
export function report(terminal: Terminal, made: Made): void {
  const { read, written, server, record, left } = made;
  const warn = (text: string) => terminal.note(terminal.err.yellow(text));
  const present = presentTools(made);
  const bytes = present.reduce((sum, tool) => sum + tool.bytes, 0);
  const size = `${bytes.toLocaleString("en")} bytes, roughly ${Math.ceil(bytes / 4).toLocaleString("en")} tokens`;
  terminal.note(
    `${oneLine(read.title)} ${oneLine(read.version)} at ${server}: ${counted(present.length, "tool")}, ${size} in the list`,
  );
  reportRefused(terminal, read);
  for (const { what, fix, hosts } of findExceeded({ tools: present.map(({ listed }) => listed) }))
    warn(`${hosts.map(titleOf).join(", ")}: ${what} ${fix}`);
  for (const text of [...describeRenamed(made), ...describeDifference(made)]) warn(text);
  const isNew = ({ id }: OfferedTool) => record === undefined || !Object.hasOwn(record.tools, id);
  for (const [all, one] of relatedTools(present).slice(0, RELATED_SHOWN_MAX)) {
    if (isNew(all) || isNew(one))
      terminal.note(
        terminal.err.dim(
          `${all.name} and ${one.name} could be one tool with an optional argument, about ${one.bytes - ARGUMENT_BYTES} bytes less`,
        ),
      );
  }
  for (const { path, part, kept, offered } of written.conflicts) {
    warn(`${path}: ${oneLine(part, 200)} was changed by you and in the API. Yours is kept; this is the difference:`);
    terminal.note(diffLines(kept, offered, terminal.err));
  }
  for (const each of written.orphans) warn(describeKept(each, read));
  for (const path of left)
    warn(
      `${path} is no longer used, because none of its operations was chosen. It is kept: remove it if you do not need it.`,
    );
}

function reportRefused(terminal: Terminal, { refused }: ReadAnswer): void {
  for (const { id, reason } of refused.slice(0, REFUSED_SHOWN_MAX))
    terminal.note(terminal.err.dim(`not possible: ${oneLine(id)}: ${oneLine(reason, 200)}`));
  if (refused.length > REFUSED_SHOWN_MAX)
    terminal.note(terminal.err.dim(`... and ${refused.length - REFUSED_SHOWN_MAX} more; --list shows them`));
}

/** Returns the tools that the author has not deleted. */
function presentTools({ tools, written }: Made): readonly OfferedTool[] {
  const regions = new Set(
    written.files.flatMap(({ path, text }) => {
      return path.startsWith("src/") ? [...text.matchAll(/^\s*\/\/ #region (.*?)\s*$/gm)].map(([, name]) => name) : [];
    }),
  );
  return tools.filter(({ id }) => regions.has(id));
}

/** Describes the tools that got another name because the project already has a tool with their name. */
function describeRenamed({ tools, record, taken, name: folder }: Made): string[] {
  const isNew = ({ id }: OfferedTool) => record === undefined || !Object.hasOwn(record.tools, id);
  const prefix = `${folder.replaceAll("-", "_")}_`;
  return tools.filter(isNew).flatMap(({ name }) => {
    const wanted = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    const path = taken.get(wanted);
    return path === undefined
      ? []
      : [`${wanted} is already a tool of this project (${path}), so the new one is called ${name}`];
  });
}

/** Describes new operations, and tools that are removed because they were not chosen. */
function describeDifference({ tools, read, record, written }: Made): string[] {
  if (record === undefined) return [];
  const chosen = new Set(tools.map(({ id }) => id));
  const known = new Set([...Object.keys(record.tools), ...(record.others ?? [])]);
  const fresh = record.others === undefined ? [] : read.tools.filter(({ id }) => !chosen.has(id) && !known.has(id));
  const kept = new Set(written.orphans.map((each) => splitOrphan(each).region));
  const isRemoved = ({ id }: OfferedTool) => !chosen.has(id) && !kept.has(id) && Object.hasOwn(record.tools, id);
  const removed = read.tools.filter(isRemoved);
  const [is, it] = fresh.length === 1 ? ["is", "it"] : ["are", "them"];
  return [
    ...(removed.length === 0
      ? []
      : [`${counted(removed.length, "tool")} that you do not choose any more, removed: ${named(removed)}`]),
    ...(fresh.length === 0
      ? []
      : [
          `${counted(fresh.length, "operation")} of the API ${is} new and ${is === "is" ? "was" : "were"} not chosen: ${named(fresh)}. To take ${it}: --also ${fresh[0]?.name}${fresh.length === 1 ? "" : " ..."}`,
        ]),
  ];
}

function named(tools: readonly OfferedTool[]): string {
  const shown = tools.slice(0, NAMED_MAX).map(({ name, id }) => `${name} (${oneLine(id, 80)})`);
  return `${shown.join(", ")}${tools.length > NAMED_MAX ? `, and ${tools.length - NAMED_MAX} more` : ""}`;
}

/** Explains why a region is kept although its operation is no longer generated. */
function describeKept(orphan: string, { tools, refused }: ReadAnswer): string {
  const { region } = splitOrphan(orphan);
  const has = (each: { readonly id: string }) => each.id === region;
  const why = tools.some(has)
    ? "was not chosen"
    : refused.some(has)
      ? "cannot be a tool any more"
      : "is no longer in the API";
  return `${oneLine(orphan, 200)} ${why}. It is kept, because you have changed it.`;
}

/** Splits an orphan, which is written as the path of a file and the name of a region. */
function splitOrphan(orphan: string): { readonly region: string } {
  return { region: orphan.slice(orphan.indexOf(": ") + 2) };
}

/** Finds pairs of operations that read all items and one item: a single tool with an optional argument can do both. */
function relatedTools(tools: readonly OfferedTool[]): [all: OfferedTool, one: OfferedTool][] {
  const byId = new Map(tools.map((tool) => [tool.id, tool]));
  return tools.flatMap((one): [OfferedTool, OfferedTool][] => {
    const all = /^GET (.*)\/\{[^{}/]*\}$/.exec(one.id)?.[1];
    const found = all === undefined ? undefined : byId.get(`GET ${all}`);
    return found === undefined || one.bytes <= ARGUMENT_BYTES ? [] : [[found, one]];
  });
}

/** The decisions of this run. */
export interface Decided {
  readonly access: "service" | "user";
  readonly name: string;
  readonly server: string;
  /** The secrets that did not exist before. */
  readonly secrets: readonly string[];
  /** The binding for another base URL. */
  readonly urlBinding: string;
  readonly isFirst: boolean;
  /** Whether users sign in to this server. */
  readonly hasSignIn: boolean;
}

/** Describes what the user should do next. */
export function nextSteps({ access, name, server, secrets, ...rest }: Decided): string[] {
  const { isFirst, hasSignIn, urlBinding } = rest;
  const { host } = new URL(server);
  const needsSignIn = access === "user" && !hasSignIn;
  return [
    ...secrets.map((secret) => {
      const value = secret.endsWith("USER_AND_PASSWORD") ? "user:password" : "...";
      const form = value === "..." ? "" : `the value is ${value}, and `;
      return `npx wrangler secret put ${secret}   # ${form}is sent to ${host}; and ${secret}=${value} in .dev.vars on your machine`;
    }),
    ...(secrets.length > 0
      ? ["Everyone who may call this server uses these credentials. To require a token: npx mcp-edge add auth"]
      : []),
    ...(access === "user" && isFirst
      ? [
          `The token with which each user has signed in is sent to ${host}, so it has to come from the provider of this API`,
        ]
      : []),
    ...(needsSignIn
      ? [
          "The Worker needs authorizationServer() with that provider, see node_modules/mcp-edge/docs/guides/authorization-server-tokens.md",
        ]
      : []),
    ...(isFirst
      ? [
          `Read and shorten the descriptions in src/${name}: they are what a model knows about the tools`,
          `To try the tools with another API, such as one on your machine: ${urlBinding}=http://127.0.0.1:8080 in .dev.vars`,
        ]
      : []),
    "npm test",
  ];
}
