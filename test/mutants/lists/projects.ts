/** Changes to the commands for projects, and to serving HTTP on Node. */
import type { Mutant } from "../mutant.ts";

const NEW = ["test/cli/new.test.ts"];
const CONNECT = ["test/cli/connect.test.ts"];
const CHECK = ["test/cli/check.test.ts"];
const TYPES = ["test/cli/types.test.ts"];
const DISTRIBUTION = ["test/cli/distribution.test.ts"];
const PACK = ["test/scripts/pack-templates.test.ts"];
const ADD = ["test/cli/add.test.ts"];
const SERVE_HTTP = ["test/node/serve-http.test.ts"];

export const PROJECTS: readonly Mutant[] = [
  {
    id: "new-into-a-full-folder",
    file: "src/cli/project/create.ts",
    find: "if (content.length > 0)",
    replace: "if (content.length > 99)",
    tests: NEW,
    title: "an existing folder or file is not touched",
  },
  {
    id: "new-leaves-the-half-made-project",
    file: "src/cli/project/create.ts",
    find: "rmSync(building, { recursive: true, force: true, maxRetries: 5 });",
    replace: "",
    tests: NEW,
    title: "Ctrl-C during the installation",
  },
  {
    id: "new-keeps-underscore-gitignore",
    file: "src/cli/project/create.ts",
    find: 'file.replace(/(^|\\/)_gitignore$/, "$1.gitignore")',
    replace: "file",
    tests: NEW,
    title: "creates a project from",
  },
  {
    id: "new-keeps-the-name-of-the-worker",
    file: "src/cli/project/fill-in.ts",
    find: "file: /^wrangler\\.(toml|jsonc?)$/,",
    replace: "file: /^wrangler\\.jsonc?$/,",
    tests: NEW,
    title: "creates a project from",
  },
  {
    id: "pack-secrets-that-git-knows",
    file: "scripts/pack-templates.ts",
    find: "|| NEVER.test(file) ||",
    replace: "||",
    tests: PACK,
    title: "packs neither secrets",
  },
  {
    id: "connect-drops-a-comma",
    file: "src/cli/hosts/edit-jsonc.ts",
    find: 'const comma = last.commaEnd === undefined ? "," : "";',
    replace: 'const comma = "";',
    tests: CONNECT,
    title: "whatever the file holds",
  },
  {
    id: "connect-shows-secrets",
    file: "src/cli/connect.ts",
    find: "lines(redact(old)",
    replace: "lines(old",
    tests: CONNECT,
    title: "a file keeps its comments",
  },
  {
    id: "connect-replaces-a-link",
    file: "src/cli/hosts/write-file.ts",
    find: "const target = isNew ? path : realpathSync(path);",
    replace: "const target = isNew ? path : (realpathSync(path), path);",
    tests: CONNECT,
    title: "a file keeps its comments",
  },
  {
    id: "connect-writes-without-asking",
    file: "src/cli/connect.ts",
    find: "if (!options.yes) {",
    replace: "if (options.yes) {",
    tests: CONNECT,
    title: "in a terminal, the host is chosen",
  },
  {
    id: "check-takes-a-warning-for-a-pass",
    file: "src/cli/check/suite.ts",
    find: 'if (failures.length > 0) return { status: "failed", detail: texts(failures) };',
    replace: "",
    tests: CHECK,
    title: "the suite finds an invalid message",
  },
  {
    id: "check-unknown-tools-may-run",
    file: "src/cli/check/probes.ts",
    find: 'if (!isError) throw new Error("A call of a tool that does not exist succeeds.");',
    replace: "",
    tests: CHECK,
    title: "runs tools that do not exist",
  },
  {
    id: "types-end-of-a-comment",
    file: "src/cli/types/convert.ts",
    find: '.replaceAll("*/", "*\\\\/")',
    replace: "",
    tests: TYPES,
    title: "whatever a server names its tools",
  },
  {
    id: "types-everything-is-optional",
    file: "src/cli/types/convert.ts",
    find: 'const mark = required.includes(name) ? "" : "?";',
    replace: 'const mark = "?";',
    tests: TYPES,
    title: "members",
  },
  {
    id: "types-overwrites-own-files",
    file: "src/cli/types.ts",
    find: '&& !readFileSync(out, "utf8").startsWith(GENERATED)',
    replace: "&& false",
    tests: TYPES,
    title: "a file is written again only if",
  },
  {
    id: "server-json-old-version",
    file: "src/cli/server-json.ts",
    find: 'differs("version", file.version, info?.version);',
    replace: "",
    tests: DISTRIBUTION,
    title: "server-json describes a running server",
  },
  {
    id: "zip-wrong-checksum",
    file: "src/cli/zip.ts",
    find: "return (value ^ 0xffffffff) >>> 0;",
    replace: "return value >>> 0;",
    tests: DISTRIBUTION,
    title: "an archive keeps the bytes",
  },
  {
    id: "serve-http-forgets-work",
    file: "src/node/serve-http.ts",
    find: "await Promise.all(pending);",
    replace: "",
    tests: SERVE_HTTP,
    title: "close() waits for work",
  },
  {
    id: "add-overwrites-a-file",
    file: "src/cli/add.ts",
    find: 'if (before !== "" || !existsSync(path)) return true;',
    replace: "return true;",
    tests: ADD,
    title: "a file that exists",
  },
  {
    id: "add-changes-when-only-printing",
    file: "src/cli/add.ts",
    find: "if (options.print) return Exit.ok;",
    replace: "",
    tests: ADD,
    title: "--print shows the changes",
  },
  {
    id: "add-auth-twice",
    file: "src/cli/add/parts.ts",
    find: "if (/\\bauth\\b\\s*[:,}]/.test(entry.text))",
    replace: "if (/\\bnever\\b/.test(entry.text))",
    tests: ADD,
    title: "auth is added to",
  },
];
