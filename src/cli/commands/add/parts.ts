/**
 * The parts that `mcp-edge add` supports, each as changes to files. If a part cannot find where to insert its code, it fails with an
 * error that says what to write, rather than guess.
 *
 * @module
 */

import { usageError } from "../../exit.ts";
import { addFileStore } from "./file-store.ts";
import { partFile, viewFile } from "./files.ts";
import { AUTHENTICATES, GUIDES, withPlugin, withTests } from "./forms.ts";
import type { AddOptions, PARTS } from "./options.ts";
import { type Addition, type Change, importPath, type Project, readManifest, withImport } from "./project.ts";

/** The function of each part. @throws {CliError} if it cannot find where to insert code. */
export const ADDITIONS: Readonly<Record<(typeof PARTS)[number], (project: Project, options: AddOptions) => Addition>> =
  {
    auth: addAuth,
    tasks: addTasks,
    d1: addD1,
    app: addApp,
    test: addTest,
    recorder: addRecorder,
    files: addFileStore,
  };

/** Matches the plugin that admits all callers. */
const ANYONE = /\banonymous\(\)/;

/** @throws {CliError} if the option is missing or is not an HTTPS URL. */
function checkIssuer(issuer: string | undefined, part: "auth" | "recorder"): string {
  if (issuer !== undefined && URL.canParse(issuer) && issuer.startsWith("https:")) return issuer;
  const problem = issuer === undefined ? "" : `${issuer} is not an https: URL. `;
  throw usageError(`${problem}Name the issuer of the tokens: mcp-edge add ${part} --issuer https://login.example.com`);
}

function addAuth({ entry }: Project, options: AddOptions): Addition {
  const issuer = checkIssuer(options.issuer, "auth");
  const isOpen = ANYONE.test(entry.text);
  if (!isOpen && AUTHENTICATES.test(entry.text)) throw usageError(`${entry.path} already authenticates callers.`);
  const auth = `bearer({ issuer: ${JSON.stringify(issuer)} })`;
  const closed = entry.text.replace(ANYONE, auth).replace(/\banonymous,\s*|,\s*anonymous\b/, "");
  const changed = isOpen ? closed : withPlugin(entry.text, auth);
  if (changed === undefined) {
    throw usageError(
      `The call of edge() in ${entry.path} has an unknown form. Add ${auth} to its option use, with bearer from "mcp-edge/worker/auth".`,
    );
  }
  const after = withImport(changed, 'import { bearer } from "mcp-edge/worker/auth";');
  return {
    changes: [{ path: entry.path, before: entry.text, after }],
    next: [
      `Tests of the Worker need a token now. To create one, see ${GUIDES}/testing-faults.md, "Testing protected servers"`,
      `For scopes of single tools and the resource metadata, see ${GUIDES}/authorization.md`,
    ],
  };
}

/** Adds a module that defines tools, and a call that adds them to the server. */
function addModule({ server }: Project, path: string, text: string, functionName: string, change = same): Change[] {
  const line = `import { ${functionName} } from "${importPath(server.path, path)}";`;
  const after = `${withImport(change(server.text), line).trimEnd()}\n\n${functionName}(${server.variable});\n`;
  return [
    { path, before: "", after: text },
    { path: server.path, before: server.text, after },
  ];
}

const same = (text: string) => text;

function addTasks(project: Project): Addition {
  const { entry } = project;
  if (!/\b(durable|tasks)\(/.test(entry.text)) {
    throw usageError(
      `Tasks need Durable Objects: write edge(server, { use: [durable()] }) in ${entry.path} first, with durable from "mcp-edge/worker/durable".`,
    );
  }
  return {
    changes: addModule(project, "src/report.ts", partFile("report.ts"), "addReport"),
    next: ["npx mcp-edge call http://127.0.0.1:8787/mcp make_report --subject tides --task"],
  };
}

function addD1(project: Project): Addition {
  const { wrangler, stdio } = project;
  if (/^\s*binding = "DB"/m.test(wrangler.text)) throw usageError("wrangler.toml already has a binding named DB.");
  const name = /^name = "([^"]+)"/m.exec(wrangler.text)?.[1] ?? "notes";
  const table = `\n# Notes. The first deployment creates the database, so there is no id to paste.\n[[d1_databases]]\nbinding = "DB"\ndatabase_name = "${name}-notes"\n`;
  // Env is the type that wrangler generates for the variables and bindings of the project.
  const typed = (text: string) => text.replace(/new McpServer\(/, "new McpServer<Env>(");
  return {
    changes: [
      { path: wrangler.path, before: wrangler.text, after: `${wrangler.text.trimEnd()}\n${table}` },
      ...addModule(project, "src/notes.ts", partFile("notes.ts"), "addNotes", typed),
      ...(stdio ? [{ path: stdio.path, before: stdio.text, after: withVariables(stdio.text) }] : []),
    ],
    next: ["npx wrangler types", 'npx mcp-edge call http://127.0.0.1:8787/mcp add_note --text "Buy milk"'],
  };
}

/** Passes the environment variables to the server in the stdio entry, which has no database. An entry that differs is not changed. */
const withVariables = (text: string): string =>
  text.replace(
    /^(await serveStdio\((\w+))\);$/m,
    "// This process has no database; tools that need one return an error.\n$1, { env: process.env as unknown as Env });",
  );

function addApp(project: Project): Addition {
  const { manifest } = project;
  const whole = readManifest(project);
  const scripts = { ...whole.scripts, view: "node view/build.ts" };
  const devDependencies = { esbuild: "^0.28.2", ...whole.devDependencies };
  const after = `${JSON.stringify({ ...whole, scripts, devDependencies }, undefined, 2)}\n`;
  const added = (path: string, text: string): Change => ({ path, before: "", after: text });
  return {
    changes: [
      ...addModule(project, "src/app-view.ts", partFile("app-view.ts"), "addAppView"),
      added("src/view-html.ts", partFile("view-html.ts")),
      added("view/main.ts", partFile("view/main.ts")),
      added("view/view.html", partFile("view/view.html")),
      added("view/bridge.ts", viewFile("bridge.ts")),
      added("view/build.ts", viewFile("build.ts")),
      added("view/tsconfig.json", viewFile("tsconfig.json")),
      { path: manifest.path, before: manifest.text, after },
    ],
    next: [
      "npm install",
      "npm run view   # after each change in the folder view",
      "npx mcp-edge call http://127.0.0.1:8787/mcp roll_dice",
    ],
  };
}

function addTest(project: Project): Addition {
  const { entry } = project;
  if (!/\b(durable|sessions)\(/.test(entry.text)) {
    throw usageError(
      `The test needs sessions, and ${entry.path} has none: write edge(server, { use: [durable()] }) first.`,
    );
  }
  const { changes, next } = withTests(project);
  return {
    changes: [{ path: "test/session.test.ts", before: "", after: partFile("session.test.ts") }, ...changes],
    next,
  };
}

/** The file of the Worker that records, and its configuration. */
const RECORDER_CONFIG = "wrangler.recorder.toml";

function addRecorder({ wrangler }: Project, options: AddOptions): Addition {
  const issuer = checkIssuer(options.issuer, "recorder");
  const name = /^name = "([\w-]+)"/m.exec(wrangler.text)?.[1];
  if (name === undefined) throw usageError("wrangler.toml has no name.");
  if (wrangler.text.includes(`"${name}-recorder"`)) throw usageError("wrangler.toml already names the recorder.");
  const consumer = [
    "",
    "# The Worker that records this one. Streaming tails are experimental in production: if Cloudflare does not accept them for your",
    "# account, remove these lines and write [observability] enabled = true, whose traces work today.",
    "[[streaming_tail_consumers]]",
    `service = "${name}-recorder"`,
    "",
  ].join("\n");
  const source = partFile("recorder.ts").replace('"https://login.example.com"', () => JSON.stringify(issuer));
  return {
    changes: [
      { path: "src/recorder.ts", before: "", after: source },
      { path: RECORDER_CONFIG, before: "", after: partFile(RECORDER_CONFIG).replace("NAME", name) },
      { path: wrangler.path, before: wrangler.text, after: `${wrangler.text.trimEnd()}\n${consumer}` },
    ],
    next: [
      `npx wrangler deploy --config ${RECORDER_CONFIG}   # first, because the server names it`,
      "npx wrangler deploy",
      `npx mcp-edge call https://${name}-recorder.YOUR-SUBDOMAIN.workers.dev/mcp list_calls`,
      "Streaming tails are experimental in production. What works today without them: [observability] enabled = true in wrangler.toml",
      `For environments, costs and what is stored, see ${GUIDES}/recorder.md`,
    ],
  };
}
