/** Changes to the rooms around the core: schemas, Node, the test kit, and the plain parts of HTTP. */
import type { Mutant } from "../mutant.ts";

const VALIDATION = ["test/features/validation.test.ts"];
const LADDER = ["test/http/ladder.test.ts"];

export const EDGES: readonly Mutant[] = [
  {
    id: "a16-validator-throws",
    file: "src/core/schema.ts",
    find: 'direction === "input" ? (value) => guarded(validate, value) : validate;',
    replace: "validate;",
    tests: VALIDATION,
  },
  {
    id: "a11-issues-unbounded",
    file: "src/core/schema.ts",
    find: "for (const issue of issues.slice(0, ISSUES_MAX)) {",
    replace: "for (const issue of issues) {",
    tests: VALIDATION,
  },
  {
    id: "a11-issue-text-unbounded",
    file: "src/core/schema.ts",
    find: "if (bytes > ISSUES_BYTES_MAX) break;",
    replace: "",
    tests: VALIDATION,
  },
  {
    id: "a11-first-issue-unbounded",
    file: "src/core/schema.ts",
    find: "while (shown.length === 0 && jsonBytes(text) > ISSUES_BYTES_MAX) text",
    replace: "while (shown.length < 0) text",
    tests: VALIDATION,
  },
  {
    id: "a11-others-uncounted",
    file: "src/core/schema.ts",
    find: 'return (others > 0 ? [...shown, `and ${others} more`] : shown).join("; ");',
    replace: 'return shown.join("; ");',
    tests: VALIDATION,
  },
  {
    id: "stdio-line-unbounded",
    file: "src/node/stdio-transport.ts",
    find: "if (this.#partBytes > this.#lineBytesMax) {",
    replace: "if (this.#partBytes < 0) {",
    tests: ["test/node/stdio-transport.test.ts"],
  },
  {
    id: "stdio-prints-among-messages",
    file: "src/node/serve-stdio.ts",
    find: "stdout.write = stderr.write.bind(stderr) as typeof write;",
    replace: "",
    tests: ["test/node/serve-stdio.test.ts"],
  },
  {
    id: "keys-file-readable-by-others",
    file: "src/node/cli.ts",
    find: "chmodSync(file, 0o600);",
    replace: "",
    tests: ["test/node/cli.test.ts"],
  },
  {
    id: "keys-name-in-comment-counts",
    file: "src/node/cli.ts",
    find: 'if (!new RegExp(`^\\\\s*${NAME}\\\\s*=`, "m").test(text)) {',
    replace: "if (!text.includes(NAME)) {",
    tests: ["test/node/cli.test.ts"],
  },
  {
    id: "session-missing-is-served",
    file: "src/http/classify.ts",
    find: 'if (options.hasSessions && sessionId === undefined && !isBatch) return refusal({ reason: "session-missing" }, id);',
    replace: "",
    tests: LADDER,
  },
  {
    id: "ladder-batch-of-modern-version",
    file: "src/http/classify.ts",
    find: "if (body.some(isModernMember)) return",
    replace: "if (body.length < 0) return",
    tests: LADDER,
  },
  {
    id: "ladder-modern-response",
    file: "src/http/classify.ts",
    find: 'if (parsed.kind !== "request") return refusal({ reason: "client-response" });',
    replace: 'if (parsed.kind !== "request") return { kind: "notification", message: undefined };',
    tests: LADDER,
  },
  {
    id: "a24-origin-unchecked",
    file: "src/http/origin.ts",
    find: "if (header === null && (request",
    replace: "if ((request",
    tests: ["test/http/origin.test.ts"],
  },
  {
    id: "a11-quick",
    file: "src/schema/index.ts",
    find: "(isLarge ? quick : thorough).validate(value)",
    replace: "thorough.validate(value)",
    tests: VALIDATION,
  },
  {
    id: "a16-authors-errors",
    file: "src/core/schema.ts",
    find: "    if (McpError.is(error) || ToolError.is(error)) throw error;",
    replace: "    if (McpError.is(error)) throw error;",
    tests: VALIDATION,
  },
  {
    id: "t8-untyped-root",
    file: "src/core/schema.ts",
    find: '    json: { type: "object", ...json },',
    replace: "    json,",
    tests: ["test/features/tools-results.test.ts"],
  },
  {
    id: "c5-bad-notification",
    file: "src/http/classify.ts",
    find: "if (parsed.isNotification) return",
    replace: "if (parsed.kind === undefined) return",
    tests: LADDER,
  },
];
