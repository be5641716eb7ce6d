/**
 * The tables of rooms in docs/architecture.md: `npm run docs:reference` writes them, and `npm run check` fails if they are stale, if a folder
 * is in none of them, or if the document names a file that does not exist.
 */
import { readdirSync } from "node:fs";
import { CLIENT_ROOMS, CORE_ROOMS, type Layers, ROOMS } from "./rooms.ts";
import { ROOT } from "./tools.ts";

export const ARCHITECTURE_FILE = `${ROOT}docs/architecture.md`;

/** The lines between which the tables are written. */
const BEGIN = "<!-- Written by `npm run docs:reference` from scripts/rooms.ts and scripts/rooms-table.ts. -->";
const END = "<!-- The end of what `npm run docs:reference` writes. -->";

/** The rooms whose folders have an order. */
const ORDERED: Readonly<Record<string, Layers>> = { core: CORE_ROOMS, client: CLIENT_ROOMS };

/** The folders of the other large rooms, with their contents. */
const FOLDERS: Readonly<Record<string, string>> = {
  "http/page": "the page for browsers: how to connect, what the server offers, its style",
  "worker/access": "who may call and how often: `auth` (tokens), `dpop`, `rates`, `audit`",
  "worker/durable": "`durable()`, all parts that need objects; the entry",
  "worker/sessions": "sessions: ids, objects, the event log, the streams and their sockets",
  "worker/http-sse": "the transport of 2024-11-05, on sessions",
  "worker/hub": "notifications to the clients of all isolates",
  "worker/keys": "sealing keys that need no configuration",
  "worker/replay": "questions in the middle of a call; calls of sessions that survive a restart",
  "worker/once": "calls that run once",
  "worker/tasks": "tasks in objects, of both versions",
  "worker/workflows": "tasks that Workflows run",
  "worker/page":
    "the page for browsers: `http/page.ts` writes it, with the lines for curl, the Inspector and Claude Code; `mcp-edge dev` prints it as text",
  "worker/debug": "a line in the log for each message",
  "worker/files": "`files()`: uploads, downloads and their links, the object of a caller's files, the page for a file",
  "node/files": "files of handlers: in a folder, for untrusted paths; `openFolders()`, for files of tools on stdio",
  "worker/health": "a route that says whether the Worker runs, and what its isolate is doing",
  "worker/token-store": "an object that keeps the tokens of clients in Workers",
  "page-app/api": "the routes of the recorder",
  "page-app/state":
    "signals: the connection, the lists of the server, calls, questions, tasks, the timeline, the route",
  "page-app/forms": "forms from JSON Schema: fields, values, checks, completion",
  "page-app/content": "results: content blocks, JSON as a tree, views of MCP Apps",
  "page-app/timeline": "the recorded calls: the list, an opened entry with its lanes, faults, comparison",
  "page-app/panels": "tools, prompts, resources, tasks, objects, questions and settings",
  "page-app/parts": "components that several panels use: icons, dialogs, the shell",
  "recorder/assemble": "entries from exchanges, from the events of the tail, and from links between messages",
  "recorder/findings": "probable faults of an entry, and their locations",
  "recorder/redact": "secrets, shapes of contents, names, addresses, statements",
  "recorder/recording": "recordings as files, comparisons, commands for curl, tests",
  "recorder/tail": "the tail Worker, which reports what workerd tells it",
  "cli/commands":
    "a file or folder for each command: its declaration in `command.ts`, and its work, which is imported when the command runs",
  "cli/server": "the server of a command: what `<server>` means, the connection, sign-in",
  "cli/terminal": "reading and writing: questions, forms, output without control characters and secrets",
  "cli/arguments": "arguments of tools from options, JSON and forms",
  "cli/hosts": "the configuration files of hosts",
  "cli/host-profiles": "how well-known hosts connect, and their limits, each with its source",
  "cli/relay": "`bridge` and `expose`: messages between a host and a server of another version",
  "cli/fetched": "packages that are fetched with npx when a command needs them",
  "cli/files": "reading and writing files in untrusted folders",
  "authorization-server/enterprise":
    "`enterprise()`: assertions of companies' identity providers, and the objects of their users",
  "authorization-server/routes": "the endpoints, and the requests and cookies that they read",
  "authorization-server/clients": "clients: named, registered, or described by a document",
  "authorization-server/identity": "identity providers: `oidc()`, `github()`, `ownLogin()`",
  "authorization-server/pages": "what people see: consent, errors, what they have allowed",
  "authorization-server/users": "the object of a user: grants, successors, tokens of the identity provider",
};

/** Returns the tables as Markdown. */
function tables(): string {
  const rooms = Object.entries(ROOMS).map(([name, { holds, rooms: below, packages }]) => {
    const allowed = [...below, ...packages.filter((each) => each !== "hono/*").map((each) => `\`${each}\``)];
    return [`\`src/${name}\``, holds, allowed.join(", ") || "nothing else"];
  });
  const folders = Object.entries(FOLDERS).map(([name, holds]) => [`\`${name}\``, holds]);
  return [
    "The rooms, lowest first:",
    table(["room", "contents", "may import"], rooms),
    ...Object.entries(ORDERED).flatMap(([room, layers]) => [
      `The rooms of \`src/${room}\`, lowest first. Each may import those above it in this table, except ${exceptions(layers)}:`,
      orderedTable(room, layers),
    ]),
    "The folders of the other large rooms:",
    table(["folder", "contents"], folders),
  ].join("\n\n");
}

function orderedTable(room: string, layers: Layers): string {
  const rows = layers.flatMap((line) => Object.entries(line).map(([name, holds]) => [`\`${room}/${name}\``, holds]));
  return table(["room", "contents"], rows);
}

/** Returns the rooms that may not import each other although one is above the other. */
function exceptions(layers: Layers): string {
  const lines = layers.map((line) => Object.keys(line)).filter(({ length }) => length > 1);
  return lines.map((names) => `that ${listNames(names)} may not import each other`).join(", and ");
}

function listNames(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  return `${quoted.slice(0, -1).join(", ")} and ${quoted.at(-1)}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Returns the document with tables that are up to date. @throws {Error} if the lines around them are missing. */
export function withTables(document: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`docs/architecture.md lacks the lines\n${BEGIN}\n${END}`);
  return `${document.slice(0, begin + BEGIN.length)}\n\n${tables()}\n\n${document.slice(end)}`;
}

/** Matches a path of a file in backticks, from src/ or from a folder in it. */
const FILE = /`((?:[\w-]+\/)*[\w-]+\.ts)`/g;

/** Returns what is wrong with the document. @param paths The files below src/, with slashes. */
export function findStale(document: string, paths: readonly string[]): string[] {
  const stale =
    withTables(document) === document
      ? []
      : ["docs/architecture.md: the tables of rooms are stale: npm run docs:reference"];
  const named = new Set([...document.matchAll(FILE)].map(([, path = ""]) => path.replace(/^src\//, "")));
  const isThere = (path: string) => paths.some((each) => `/${each}`.endsWith(`/${path}`));
  const missing = [...named].filter((path) => !path.startsWith("scripts/") && !isThere(path));
  return [
    ...stale,
    ...missing.map((path) => `docs/architecture.md: no file below src ends with ${path}`),
    ...foldersOf(paths)
      .filter((folder) => !isKnown(folder))
      .map((folder) => `src/${folder}: not in the tables of docs/architecture.md; add it to scripts/rooms-table.ts`),
    ...Object.keys(FOLDERS)
      .filter((folder) => !paths.some((path) => path.startsWith(`${folder}/`)))
      .map((folder) => `scripts/rooms-table.ts: src/${folder} does not exist`),
  ];
}

/** Returns the rooms, and the folders in them. */
function foldersOf(paths: readonly string[]): string[] {
  const folders = paths.flatMap((path) => {
    const names = path.split("/").slice(0, -1);
    return [names.slice(0, 1), names.slice(0, 2)].map((each) => each.join("/"));
  });
  return [...new Set(folders)];
}

function isKnown(folder: string): boolean {
  const [room = "", inner = ""] = folder.split("/");
  return folder in ROOMS || folder in FOLDERS || (ORDERED[room] ?? []).some((line) => inner in line);
}

/** Returns the TypeScript files below src/, with slashes. */
export function sourcePaths(): string[] {
  const names = readdirSync(`${ROOT}src`, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.tsx?$/.test(name)).map((name) => name.replaceAll("\\", "/"));
}
