/**
 * `mcp-edge add files`: a store of files, a tool that uses it, and a test.
 *
 * @module
 */
import { usageError } from "../../exit.ts";
import { partFile } from "./files.ts";
import { GUIDES, withPlugin, withTests } from "./forms.ts";
import type { AddOptions } from "./options.ts";
import { type Addition, type Change, importPath, type Project, type SourceFile, withImport } from "./project.ts";

const GUIDE = `${GUIDES}/files.md`;

/** Adds files to a project. To one that has them already, the option `bucket` adds only the bucket. */
export function addFileStore(project: Project, { bucket = false }: AddOptions): Addition {
  const { entry, sources, server } = project;
  const existing = sources.find(({ text }) => /\baddFiles\(/.test(text));
  if (existing && bucket) return addBucket(project);
  if (existing) throw usageError(`${existing.path} already has files. ${LARGER}`);
  if (!/\bMcpObject\b/.test(entry.text)) {
    throw usageError(
      `Files need Durable Objects: write edge(${server.variable}, { use: [durable()] }) in ${entry.path} first, with durable from "mcp-edge/worker/durable", and export the class McpObject.`,
    );
  }
  const store = sources.some(({ text }) => /\bstore\b/.test(text)) ? "fileStore" : "store";
  const endpoints = endpointsOf(project);
  const edges = endpoints.map((file) => withFiles(file, project, { store, bucket }));
  const shared = edges.find(({ path }) => path === server.path);
  const { changes, next } = bucket ? bucketIn(project) : { changes: [], next: [] };
  const stdio = openFolder(project, store);
  const tests = withTests(project);
  const added = (path: string, text: string): Change => ({ path, before: "", after: text });
  return {
    changes: [
      added("src/sort-report.ts", partFile("sort-report.ts")),
      { path: server.path, before: server.text, after: withStore(project, shared?.after ?? server.text, store) },
      ...edges.filter((each) => each !== shared),
      ...changes,
      ...(stdio ? [added("src/local-files.ts", partFile("local-files.ts")), stdio] : []),
      added("test/files.test.ts", partFile("files.test.ts")),
      ...tests.changes,
    ],
    next: [
      ...next,
      ...(project.stdio && !stdio
        ? [`In ${project.stdio.path}, call openFolders(): see ${GUIDES}/files-checks.md, "Stdio"`]
        : []),
      ...(stdio
        ? ["Over stdio, tools read and write files in ~/mcp-files, or in FILES_FOLDER: see src/local-files.ts"]
        : []),
      ...tests.next,
      "npx mcp-edge call http://127.0.0.1:8787/mcp create_upload   # while npm start runs: a URL for a file",
      `For what to do with the URL, and how tools take and return files, see ${GUIDE}`,
    ],
  };
}

const LARGER = "For files of more than 1 MB, run: mcp-edge add files --bucket";

/** Returns the source files that call edge() with the server. A project may have several entry files. */
function endpointsOf({ sources, server, entry }: Project): readonly SourceFile[] {
  const call = new RegExp(`\\bedge\\(\\s*${server.variable}\\b`);
  const found = sources.filter(({ text }) => call.test(text));
  const several = found.find(({ text }) => text.split(call).length > 2);
  if (several) throw unknownForm(several, `has several calls of edge(${server.variable})`);
  if (found.length === 0) throw unknownForm(entry, `has no call of edge(${server.variable})`);
  return found;
}

function unknownForm({ path }: SourceFile, problem: string): Error {
  return usageError(`${path} ${problem}, so it was not changed. Add files by hand: see ${GUIDE}`);
}

const WORKER_FILES = 'import { files } from "mcp-edge/worker/files";';
/** Matches a name `files` that is not the plugin. */
const OTHER_FILES =
  /\b(?:const|let|var|function|class) files\b|^import [^;]{0,2000}\bfiles\b[^;"]{0,2000} from (?!"mcp-edge\/worker\/files")/m;

/** Adds the plugin to the call of edge(). */
function withFiles(
  file: SourceFile,
  { server }: Project,
  { store, bucket }: { store: string; bucket: boolean },
): Change {
  const { path, text } = file;
  if (OTHER_FILES.test(text)) throw unknownForm(file, "uses the name files for something else");
  const plugin = bucket ? `files<Env>(${store}, ${BUCKET})` : `files(${store})`;
  // After durable(), as in the documents; the order does not matter.
  const durable = `(\\bedge\\(\\s*${server.variable},\\s*\\{[^[\\]()]*\\buse:\\s*\\[\\s*durable\\(\\))`;
  const after = text.replace(new RegExp(durable), `$1, ${plugin}`);
  const changed = after === text ? withPlugin(text, plugin, server.variable) : after;
  if (changed === undefined) throw unknownForm(file, "has a call of edge() of an unknown form");
  const imported = path === server.path ? changed : withName(changed, server.variable, store);
  if (imported === undefined) throw unknownForm(file, `does not import { ${server.variable} } from a file`);
  return { path, before: text, after: withImport(imported, WORKER_FILES) };
}

/** Adds a name to the import of another one. Undefined if there is no such import. */
function withName(text: string, known: string, added: string): string | undefined {
  const line = new RegExp(`^(import \\{[^}]*\\b${known}\\b[^}]*?)(,?\\s*)\\} from "\\.`, "m");
  const after = text.replace(line, (whole, names: string, end: string) => {
    const rest = whole.slice(names.length + end.length);
    return `${names}, ${added}${end.includes("\n") ? ",\n" : " "}${rest}`;
  });
  return after === text ? undefined : after;
}

/** Creates the store after the server was defined, and before the call of edge() in the same file. */
function withStore({ server }: Project, text: string, store: string): string {
  const { path, variable } = server;
  const lines = `/** The files that tools take and return. */\nexport const ${store} = addFiles(${variable});\naddSortReport(${variable}, ${store});\n`;
  const imported = withImport(
    withImport(text, 'import { addFiles } from "mcp-edge/files";'),
    `import { addSortReport } from "${importPath(path, "src/sort-report.ts")}";`,
  );
  const call = new RegExp(`^.*\\bedge\\(\\s*${variable}\\b`, "m").exec(imported);
  if (!call) return `${imported.trimEnd()}\n\n${lines}`;
  if (!/^(?:export )?(?:const|default)\b/.test(call[0])) throw unknownForm(server, "calls edge() in a function");
  return `${imported.slice(0, call.index)}${lines}\n${imported.slice(call.index)}`;
}

/** Opens a folder to the server over stdio. Undefined if there is no such entry, or if it has another form. */
function openFolder({ stdio, server }: Project, store: string): Change | undefined {
  if (!stdio || stdio.path === server.path) return undefined;
  const opened = stdio.text.replace(/^await serveStdio\(/m, `openLocalFiles(${store});\n$&`);
  const named = opened === stdio.text ? undefined : withName(opened, server.variable, store);
  if (named === undefined) return undefined;
  return {
    path: stdio.path,
    before: stdio.text,
    after: withImport(named, 'import { openLocalFiles } from "./local-files.ts";'),
  };
}

const BUCKET = "{ bucket: (env) => env.FILES }";

/** Matches a call of files() with a bucket. */
const HAS_BUCKET = /\bfiles(?:<\w+>)?\(\w+,\s*\{[^}]*\bbucket\b/;

/** Adds the bucket to a project that has files. */
function addBucket(project: Project): Addition {
  const plugin = /\bfiles\((\w+)\)/;
  const found = project.sources.filter(({ text }) => text.includes(WORKER_FILES) && plugin.test(text));
  if (found.length === 0 && project.sources.some(({ text }) => HAS_BUCKET.test(text)))
    throw usageError("The files of this project already have a bucket. Nothing was changed.");
  if (found.length === 0) throw usageError("No file in src has files(store) without options. Nothing was changed.");
  const { changes, next } = bucketIn(project);
  const edges = found.map(({ path, text }) => ({
    path,
    before: text,
    after: text.replace(plugin, `files<Env>($1, ${BUCKET})`),
  }));
  return { changes: [...edges, ...changes], next };
}

/** Adds the binding of the bucket, unless it is there. */
function bucketIn({ wrangler }: Project): Addition {
  const name = /^name = "([\w-]+)"/m.exec(wrangler.text)?.[1];
  if (name === undefined) throw usageError("wrangler.toml has no name.");
  const bucket = `${name}-files`;
  const next = [
    "npx wrangler types",
    `npx wrangler r2 bucket create ${bucket}   # before the next deployment`,
    `npx wrangler r2 bucket lifecycle add ${bucket} expire --expire-days 1`,
  ];
  if (/^binding = "FILES"/m.test(wrangler.text)) throw usageError("wrangler.toml already has a binding named FILES.");
  const lines = `\n# Files of more than 1 MB. On your machine, wrangler simulates the bucket.\n[[r2_buckets]]\nbinding = "FILES"\nbucket_name = "${bucket}"\n`;
  return {
    changes: [{ path: wrangler.path, before: wrangler.text, after: `${wrangler.text.trimEnd()}\n${lines}` }],
    next,
  };
}
