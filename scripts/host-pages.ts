/**
 * The parts of docs/hosts, and of the guide of the doctor, that come from the data of `mcp-edge doctor` and `mcp-edge connect`.
 * `npm run docs:reference` writes them, and a test fails if they are stale.
 */
import { globSync } from "node:fs";
import { basename } from "node:path";
import { HOST_NAMES, type HostName } from "../src/cli/host-profiles/profile.ts";
import { HOSTS } from "../src/cli/hosts/entries.ts";
import { hostFiles } from "../src/cli/hosts/files.ts";
import { factsTable, limitsTable, logsTable, overviewTable, table } from "./host-facts.ts";
import { ROOT } from "./tools.ts";

/** The operating systems, with the folders that a reader recognizes. */
const SYSTEMS = [
  { title: "macOS", platform: "darwin", home: "~", env: {}, cwd: "." },
  { title: "Linux", platform: "linux", home: "~", env: {}, cwd: "." },
  { title: "Windows", platform: "win32", home: "%USERPROFILE%", env: { APPDATA: "%APPDATA%" }, cwd: "." },
] as const;

const REMOTE = { kind: "http", url: "https://example.com/mcp" } as const;
const LOCAL = { kind: "stdio", command: "/usr/local/bin/node", args: ["/home/ada/my-server/src/stdio.ts"] } as const;

/** The parts, by the name in their first line. */
const PARTS: Readonly<Record<string, (host: HostName) => string>> = {
  entries: entriesOf,
  files: filesOf,
  facts: factsTable,
  logs: logsTable,
  limits: limitsTable,
  "all limits": () => limitsTable(),
  overview: overviewTable,
};

/** Matches a part with its first and last line. */
const PART = /(<!-- (\S[^:\n]*): written by `npm run docs:reference` -->)\n[\s\S]*?(<!-- the end of \2 -->)/g;

/** Returns the documents that contain parts. */
export function documentsWithParts(): string[] {
  return [
    ...globSync("docs/hosts/*.md", { cwd: ROOT }).map((file) => file.replaceAll("\\", "/")),
    "docs/guides/doctor.md",
  ];
}

/** Returns a document with its parts up to date. @throws {Error} if a part has an unknown name. */
export function withParts(file: string, document: string): string {
  const host = basename(file, ".md") as HostName;
  return document.replaceAll(PART, (_, begin: string, name: string, end: string) => {
    const part = PARTS[name];
    if (!part) throw new Error(`${file} has an unknown part: ${name}`);
    return `${begin}\n\n${part(host)}\n\n${end}`;
  });
}

/** Returns the names of the parts in a document. */
export function partsIn(document: string): string[] {
  return [...document.matchAll(PART)].map(([, , name = ""]) => name);
}

/** The hosts that have a page. */
export const PAGE_NAMES: readonly HostName[] = HOST_NAMES;

/** Returns the entries that `mcp-edge connect` writes. */
function entriesOf(name: HostName): string {
  const host = HOSTS.find((each) => each.name === name);
  const [file] = hostFiles(SYSTEMS[0]).filter((each) => each.host === name);
  if (!host?.entry || !file) throw new Error(`mcp-edge connect does not write entries for ${name}.`);
  const block = (target: typeof REMOTE | typeof LOCAL) =>
    `\`\`\`json\n${JSON.stringify({ [file.member]: { example: host.entry?.(target) } }, undefined, 2)}\n\`\`\``;
  return [
    `\`mcp-edge connect ${name} ${REMOTE.url}\` writes, for a remote server:`,
    block(REMOTE),
    `\`mcp-edge connect ${name} -- node ${LOCAL.args[0]}\` writes, for a local server:`,
    block(LOCAL),
  ].join("\n\n");
}

/** Returns the paths of the configuration files. */
function filesOf(name: HostName): string {
  const rows = SYSTEMS.flatMap(({ title, ...around }) =>
    hostFiles(around)
      .filter(({ host, scope }) => host === name && scope === "user")
      .map(({ path }) => [title, `\`${path}\``]),
  );
  const project = hostFiles(SYSTEMS[1]).filter(({ host, scope }) => host === name && scope === "project");
  return table(
    ["system", "file"],
    [...rows, ...project.map(({ path }) => ["in a project (`--project`)", `\`${path}\``])],
  );
}
