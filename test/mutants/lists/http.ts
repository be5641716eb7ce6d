/** Changes to the request ladder, headers, origins and SSE. */
import type { Mutant } from "../mutant.ts";

const LADDER = ["test/http/ladder.test.ts"];
const HTTP = ["test/properties/http.test.ts"];
const HEADERS = ["test/conformance/headers.test.ts"];
const ORIGINS = ["test/http/origin.test.ts", "test/conformance/origin-and-host.test.ts"];

const classify = "src/http/classify.ts";
const headers = "src/http/headers.ts";
const origin = "src/http/origin.ts";
const refusal = "src/http/refusal.ts";

export const HTTP_ROOM: readonly Mutant[] = [
  {
    id: "ladder-method-header-unchecked",
    file: classify,
    find: "if (method !== request.method) {",
    replace: "if (method === undefined) {",
    tests: [...LADDER, ...HEADERS],
  },
  {
    id: "ladder-version-header-unchecked",
    file: classify,
    find: "if (headers.protocolVersion !== envelope.version) {",
    replace: "if (headers.protocolVersion === undefined) {",
    tests: [...LADDER, ...HEADERS],
  },
  {
    id: "ladder-name-header-unchecked",
    file: classify,
    find: "return decoded === inBody ? undefined :",
    replace: "return decoded ? undefined :",
    tests: [...LADDER, ...HEADERS],
  },
  {
    id: "ladder-name-header-optional",
    file: classify,
    find: 'if (header === null) return "Mcp-Name is missing";',
    replace: "if (header === null) return undefined;",
    tests: [...LADDER, ...HEADERS],
  },
  {
    id: "ladder-batch-duplicate-ids",
    file: classify,
    find: "if (new Set(requests.map(({ id }) => id)).size < requests.length)",
    replace: "if (requests.length < 0)",
    tests: LADDER,
  },
  {
    id: "ladder-batch-unbounded",
    file: classify,
    find: "if (body.length > options.batchMax)",
    replace: "if (body.length > Number.MAX_SAFE_INTEGER)",
    tests: [...LADDER, "test/features/limits.test.ts"],
  },
  {
    id: "ladder-batch-initialize",
    file: classify,
    find: 'if (requests.some(({ method }) => method === "initialize")) return',
    replace: "if (requests.length < 0) return",
    tests: LADDER,
  },
  {
    id: "ladder-batch-empty",
    file: classify,
    find: 'if (body.length === 0) return batch("it is empty");',
    replace: "",
    tests: LADDER,
  },
  {
    id: "accept-q-zero",
    file: headers,
    find: "return [type, !parameters.some((parameter) => /^q=0(\\.0*)?$/.test(parameter))];",
    replace: "return [type, parameters.length >= 0];",
    tests: [...HTTP, ...LADDER],
  },
  {
    id: "content-type-any",
    file: headers,
    find: '?.trim().toLowerCase() === "application/json");',
    replace: '?.trim().toLowerCase() !== "");',
    tests: LADDER,
  },
  {
    id: "header-value-broken-base64",
    file: headers,
    find: "if (!isBase64(encoded)) return undefined;",
    replace: "",
    tests: [...HTTP, ...HEADERS],
  },
  {
    id: "header-value-control-characters",
    file: headers,
    find: "if (!FIELD_VALUE.test(value)) return undefined;",
    replace: "",
    tests: [...HTTP, ...HEADERS],
  },
  {
    id: "origin-any-page-on-loopback",
    file: origin,
    find: "if (isLocal && isLoopbackOrigin(origin)) return undefined;",
    replace: "if (isLocal) return undefined;",
    tests: ORIGINS,
  },
  {
    id: "origin-loopback-page-on-public-host",
    file: origin,
    find: "if (isLocal && isLoopbackOrigin(origin)) return undefined;",
    replace: "if (isLoopbackOrigin(origin)) return undefined;",
    tests: ORIGINS,
  },
  {
    id: "origin-loopback-by-prefix",
    file: origin,
    find: "127(?:\\.\\d{1,3}){3}|",
    replace: "127\\..*|",
    tests: ORIGINS,
  },
  {
    id: "origin-localhost-suffix",
    file: origin,
    find: "(?:.*\\.)?localhost",
    replace: ".*localhost",
    tests: ORIGINS,
  },
  {
    id: "refusal-405-without-allow",
    file: refusal,
    find: "        Allow: refusal.allow,",
    replace: "",
    tests: LADDER,
  },
  {
    id: "refusal-401-without-challenge",
    file: refusal,
    find: '"WWW-Authenticate": refusal.tokenPresented ? \'Bearer error="invalid_token"\' : "Bearer",',
    replace: "",
    tests: LADDER,
  },
  {
    id: "sse-without-no-transform",
    file: "src/http/sse.ts",
    find: '"Cache-Control": "no-cache, no-transform",',
    replace: '"Cache-Control": "no-cache",',
    tests: ["test/conformance/frames.test.ts"],
  },
  {
    id: "sse-priming-without-data",
    file: "src/http/sse.ts",
    find: "\\ndata:\\n\\n`;",
    replace: "\\n\\n`;",
    tests: ["test/conformance/resume.test.ts"],
  },
];
