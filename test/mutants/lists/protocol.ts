/** Changes to the protocol's values: messages, versions, levels, bytes, keys, cursors, templates. */
import type { Mutant } from "../mutant.ts";

const CORE = ["test/properties/core.test.ts"];
const SEALING = ["test/properties/sealing.test.ts"];
const TEMPLATES = ["test/properties/uri-template.test.ts"];
const PAGES = ["test/properties/pagination.test.ts"];
const LADDER = ["test/http/ladder.test.ts"];
const ROOTS = ["test/features/within-roots.test.ts"];
const COMPLETION = ["test/features/completion.test.ts"];
const LOGGING = ["test/features/logging.test.ts"];
const SECRETS = ["test/features/elicitation-secrets.test.ts"];
const HTTP = ["test/properties/http.test.ts"];

const jsonrpc = "src/core/protocol/jsonrpc.ts";
const versions = "src/core/protocol/versions.ts";
const keyRing = "src/core/seal/key-ring.ts";
const template = "src/core/define/uri-template.ts";
const pagination = "src/core/serve/pagination.ts";
const lifecycle = "src/core/protocol/lifecycle.ts";

export const PROTOCOL: readonly Mutant[] = [
  {
    id: "message-array-is-object",
    file: jsonrpc,
    find: 'typeof value === "object" && value !== null && !Array.isArray(value)',
    replace: 'typeof value === "object" && value !== null',
    tests: LADDER,
  },
  {
    id: "message-jsonrpc-unchecked",
    file: jsonrpc,
    find: 'if (value.jsonrpc !== "2.0") return',
    replace: "if (value.jsonrpc === null) return",
    tests: LADDER,
  },
  {
    id: "message-params-unchecked",
    file: jsonrpc,
    find: "if (value.params !== undefined && !isObject(value.params))",
    replace: "if (value.params === null)",
    tests: LADDER,
  },
  {
    id: "message-response-without-id",
    file: jsonrpc,
    find: "if (isObject(result) && error === undefined && value.id !== undefined) {",
    replace: "if (isObject(result) && error === undefined) {",
    tests: CORE,
  },
  {
    id: "message-error-code-unchecked",
    file: jsonrpc,
    find: "!Number.isInteger(error.code) || ",
    replace: "",
    tests: CORE,
  },
  {
    id: "error-id-null",
    file: jsonrpc,
    find: "...(id === undefined ? {} : { id }), error });",
    replace: "id: id ?? null, error });",
    tests: [...LADDER, ...CORE],
  },
  {
    id: "versions-2025-03-no-batch",
    file: versions,
    find: "  batch: true,",
    replace: "  batch: false,",
    tests: LADDER,
  },
  {
    id: "versions-empty-list-is-served",
    file: versions,
    find: "if (chosen.length === 0) throw",
    replace: "if (chosen.length < 0) throw",
    tests: ["test/features/lifecycle.test.ts"],
  },
  {
    id: "versions-oldest-first",
    file: versions,
    find: ".sort((a, b) => b.index - a.index)",
    replace: ".sort((a, b) => a.index - b.index)",
    tests: ["test/features/lifecycle.test.ts"],
  },
  {
    id: "versions-progress-message-for-2024",
    file: versions,
    find: "  progressMessage: false,",
    replace: "  progressMessage: true,",
    tests: ["test/features/progress.test.ts"],
  },
  {
    id: "versions-priming-in-2025-11-missing",
    file: versions,
    find: "  primingEvent: true,",
    replace: "  primingEvent: false,",
    tests: ["test/conformance/resume.test.ts"],
  },
  {
    id: "versions-url-required-is-no-error",
    file: versions,
    find: '  urlsRequired: "error",',
    replace: '  urlsRequired: "text",',
    tests: ["test/features/url-elicitation-required.test.ts"],
  },
  {
    id: "versions-not-found-code",
    file: versions,
    find: "  resourceNotFoundCode: -32002,",
    replace: "  resourceNotFoundCode: -32602,",
    tests: ["test/features/resources.test.ts"],
  },
  {
    id: "seal-not-bound",
    file: keyRing,
    find: "const sealed = await crypto.subtle.encrypt(options, this.#first.aes, plain);",
    replace:
      "const sealed = await crypto.subtle.encrypt({ ...options, additionalData: head }, this.#first.aes, plain);",
    tests: SEALING,
  },
  {
    id: "seal-nonce-reused",
    file: keyRing,
    find: "const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));",
    replace: "const iv = new Uint8Array(NONCE_BYTES);",
    tests: SEALING,
  },
  {
    id: "seal-layout-unchecked",
    file: keyRing,
    find: " || bytes[0] !== LAYOUT) return undefined;",
    replace: ") return undefined;",
    tests: SEALING,
  },
  {
    id: "seal-any-key",
    file: keyRing,
    find: "return this.#keys.find(({ id }) => id.every((byte, place) => byte === bytes[place + 1]));",
    replace: "return this.#keys[0];",
    tests: SEALING,
  },
  {
    id: "seal-purpose-ignored",
    file: keyRing,
    find: "crypto.subtle.deriveKey(hkdf(purpose), base,",
    replace: 'crypto.subtle.deriveKey(hkdf(""), base,',
    tests: SEALING,
  },
  {
    id: "seal-short-secret",
    file: keyRing,
    find: "if (bytes?.length === KEY_BYTES) return bytes;",
    replace: "if (bytes) return bytes;",
    tests: SEALING,
  },
  {
    id: "base64url-many-spellings",
    file: "src/core/basics/bytes.ts",
    find: "return encodeBase64Url(bytes) === text ? bytes : undefined;",
    replace: "return bytes;",
    tests: SEALING,
  },
  {
    id: "template-crosses-slash",
    file: template,
    find: "const ENCODED = /^(?:[A-Za-z0-9\\-._~]|%[0-9A-Fa-f]{2})*$/;",
    replace: "const ENCODED = /^(?:[A-Za-z0-9\\-._~/]|%[0-9A-Fa-f]{2})*$/;",
    tests: TEMPLATES,
  },
  {
    id: "template-rest-is-ignored",
    file: template,
    find: 'return rest === "" ? Object.fromEntries(found) : undefined;',
    replace: "return Object.fromEntries(found);",
    tests: TEMPLATES,
  },
  {
    id: "template-unknown-query-name",
    file: template,
    find: "if (!names.includes(name) || found.has(name) || value === undefined) return false;",
    replace: "if (found.has(name) || value === undefined) return false;",
    tests: ["test/features/resources.test.ts", ...TEMPLATES],
  },
  {
    id: "template-not-decoded",
    file: template,
    find: "return decodeURIComponent(text);",
    replace: "return text;",
    tests: TEMPLATES,
  },
  {
    id: "page-has-no-next",
    file: pagination,
    find: "const hasMore = end < entries.length && last !== undefined;",
    replace: "const hasMore = end <= entries.length && last !== undefined;",
    tests: PAGES,
  },
  {
    id: "page-cursor-spelling",
    file: pagination,
    find: "&& encodeCursor(list, value[1], endpoint) === cursor",
    replace: "",
    tests: PAGES,
  },
  {
    id: "roots-other-host",
    file: "src/core/ask/within-roots.ts",
    find: "return place?.origin === root.origin && root.segments.every(",
    replace: "return root.segments.every(",
    tests: ROOTS,
  },
  {
    id: "roots-encoded-slash",
    file: "src/core/ask/within-roots.ts",
    find: 'return [uri, uri.replace(/%2f|%5c|\\\\/gi, "/")].map(readPlace);',
    replace: "return [uri, uri].map(readPlace);",
    tests: ROOTS,
  },
  {
    id: "completion-values-unbounded",
    file: "src/core/define/completion.ts",
    find: "completion: { values: values.slice(0, VALUES_MAX),",
    replace: "completion: { values,",
    tests: COMPLETION,
  },
  {
    id: "completion-has-more",
    file: "src/core/define/completion.ts",
    find: "hasMore: values.length > VALUES_MAX",
    replace: "hasMore: false",
    tests: COMPLETION,
  },
  {
    id: "completion-inherited-member",
    file: "src/core/define/completion.ts",
    find: "const completer = completers && Object.hasOwn(completers, name) ? completers[name] : undefined;",
    replace: "const completer = completers?.[name];",
    tests: COMPLETION,
  },
  {
    id: "log-below-level",
    file: "src/core/protocol/logging.ts",
    find: "LOGGING_LEVELS.indexOf(level) >= LOGGING_LEVELS.indexOf(asked);",
    replace: "LOGGING_LEVELS.indexOf(level) > LOGGING_LEVELS.indexOf(asked);",
    tests: LOGGING,
  },
  {
    id: "log-without-level",
    file: "src/core/protocol/logging.ts",
    find: "return asked !== undefined && ",
    replace: "return asked === undefined || ",
    tests: LOGGING,
  },
  {
    id: "secrets-in-numbers",
    file: "src/core/ask/secret-fields.ts",
    find: 'return (type === "number" || type === "integer") && words.some((text) => DIGITS.test(text));',
    replace: "return false;",
    tests: SECRETS,
  },
  {
    id: "depth-brackets-in-strings",
    file: "src/core/basics/depth-gauge.ts",
    find: "else if (this.#isInString) this.#isEscaped = byte === BACKSLASH;",
    replace: "",
    tests: HTTP,
  },
  {
    id: "envelope-capabilities-unchecked",
    file: lifecycle,
    find: 'if (!isObject(capabilities)) throw missingField(META.clientCapabilities, "an object");',
    replace: "",
    tests: LADDER,
  },
  {
    id: "initialize-unknown-version-echoed",
    file: lifecycle,
    find: 'const rules = asked?.era === "legacy" ? asked : newest;',
    replace: "const rules = asked ?? newest;",
    tests: ["test/features/lifecycle.test.ts", ...LADDER],
  },
  {
    id: "modern-version-legacy-accepted",
    file: lifecycle,
    find: 'if (rules?.era !== "modern") throw unsupportedVersion(envelope.version, versions);',
    replace: "if (!rules) throw unsupportedVersion(envelope.version, versions);",
    tests: LADDER,
  },
  {
    id: "canonical-order-kept",
    file: "src/core/seal/canonical.ts",
    find: "      .sort()",
    replace: "      .slice()",
    tests: ["test/features/once.test.ts", "test/conformance/request-state.test.ts"],
  },
  {
    id: "schemas-converted-again",
    file: "src/core/protocol/schema.ts",
    find: "shown.set(standard, json);",
    replace: "",
    tests: ["test/features/schemas-converted.test.ts"],
    title: "a schema is converted once",
  },
];
