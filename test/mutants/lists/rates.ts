/** Changes to rates and to the audit. */
import type { Mutant } from "../mutant.ts";

const tests = ["test/worker/rates.test.ts"];
const AUDIT = ["test/worker/audit.test.ts"];
const rates = "src/worker/rates/index.ts";
const counting = "src/worker/rates/count.ts";
const object = "src/worker/rates/rates-object.ts";
const audit = "src/worker/audit/index.ts";
const unusual = "src/worker/audit/unusual.ts";
const inFlight = "src/worker/rates/bytes-in-flight.ts";
const IN_FLIGHT = ["test/worker/bytes-in-flight.test.ts"];

export const RATES: readonly Mutant[] = [
  { id: "rates-delete-counted", file: rates, find: ' || request.method === "DELETE"', replace: "", tests },
  { id: "rates-batch-once", file: rates, find: "principal, messages.length);", replace: "principal, 1);", tests },
  { id: "rates-without-default", file: rates, find: 'toolRates?.get("*")', replace: "undefined", tests },
  {
    id: "rates-one-address",
    file: counting,
    find: 'headers.get("CF-Connecting-IP") ?? "unknown"',
    replace: '"unknown"',
    tests,
  },
  { id: "rates-one-session", file: rates, find: "`session #${await digestOf(id)}`", replace: '"session"', tests },
  {
    id: "rates-session-of-the-header",
    file: rates,
    find: '[headers.get("Mcp-Session-Id"), query].filter(',
    replace: '[headers.get("Mcp-Session-Id") ?? query].filter(',
    tests,
  },
  {
    id: "rates-one-principal",
    file: rates,
    find: "JSON.stringify([who.issuer, who.subject])",
    replace: "who.issuer",
    tests,
  },
  {
    id: "rates-retry-in-ms",
    file: counting,
    find: "Math.ceil(retryAfterMs / 1000)",
    replace: "Math.ceil(retryAfterMs)",
    tests,
  },
  {
    id: "rates-binding-ignored",
    file: counting,
    find: ".success) return true;",
    replace: ".success) return false;",
    tests,
  },
  { id: "rates-never-beyond", file: object, find: "retryAfterMs > 0)", replace: "retryAfterMs > Infinity)", tests },
  {
    id: "rates-forgotten",
    file: object,
    find: "this.#storage.kv.put(KEY, Object.fromEntries(this.#freeAtMs));",
    replace: "",
    tests,
  },
  { id: "rates-default-limits", file: rates, find: "limits = wider(limits, own);", replace: "", tests },
  {
    id: "rates-unread-served",
    file: rates,
    find: "return refusal ? refuse(refusal) : who;",
    replace: "return who;",
    tests,
  },
  { id: "rates-long-names", file: rates, find: "`tool #${await digestOf(tool)}`", replace: "`tool #${tool}`", tests },
  {
    id: "rates-one-counter-too-many",
    file: object,
    find: "this.#isFull(next.size, nowMs) ? overflow : name",
    replace: "this.#isFull(next.size, nowMs) ? name : name",
    tests,
  },
  {
    id: "rates-overflow-for-named",
    file: object,
    find: "overflow !== undefined && isNew",
    replace: "isNew",
    tests,
  },
  {
    id: "rates-single-ipv6",
    file: "src/worker/rates/network.ts",
    find: ".slice(0, 4)",
    replace: "",
    tests,
  },
  { id: "audit-contents", file: audit, find: "...(contents && {", replace: "...({", tests: AUDIT },
  { id: "audit-without-size", file: audit, find: "resultSize: sizeOf(result),", replace: "", tests: AUDIT },
  {
    id: "audit-without-address",
    file: audit,
    find: 'ip: headers.get("CF-Connecting-IP") ?? undefined,',
    replace: "",
    tests: AUDIT,
  },
  {
    id: "audit-answers-as-refusals",
    file: audit,
    find: "if (response.status < 400) return undefined;",
    replace: "if (response.status < 600) return undefined;",
    tests: AUDIT,
  },
  {
    id: "audit-long-texts",
    file: audit,
    find: "value.length > TEXT_MAX;",
    replace: "value.length > 1e9;",
    tests: AUDIT,
  },
  {
    id: "audit-control-characters",
    file: audit,
    find: "console.log(printable(JSON.stringify({ audit: record })));",
    replace: "console.log(JSON.stringify({ audit: record }));",
    tests: AUDIT,
  },
  {
    id: "audit-unusual-success",
    file: unusual,
    find: "|| !isFailure ||",
    replace: "||",
    tests: AUDIT,
  },
  {
    id: "audit-unusual-each-time",
    file: unusual,
    find: "this.#count(caller) !== this.#max",
    replace: "this.#count(caller) < this.#max",
    tests: AUDIT,
  },
  {
    id: "audit-unusual-forever",
    file: unusual,
    find: "Date.now() - known.sinceMs < this.#perMs",
    replace: "known.count > 0",
    tests: AUDIT,
  },
  {
    id: "audit-unusual-address",
    file: unusual,
    find: "return ip && networkOf(ip);",
    replace: "return ip;",
    tests: AUDIT,
  },
  {
    id: "audit-unusual-together",
    file: unusual,
    find: "return JSON.stringify([issuer, subject]);",
    replace: "return issuer;",
    tests: AUDIT,
  },
  { id: "audit-caller-left-out", file: audit, find: "...namesOf(callerOf(request)),", replace: "", tests: AUDIT },
  { id: "rates-caller-forgotten", file: rates, find: "rememberCaller(request, who);", replace: "{}", tests: AUDIT },
  {
    id: "rates-retry-not-in-data",
    file: rates,
    find: "form: { ...form, data: { reason, retryAfterMs: seconds * 1000 } }",
    replace: "form",
    tests,
  },
  {
    id: "bytes-without-bound",
    file: inFlight,
    find: "if (sum > this.bytesMax)",
    replace: "if (sum < 0)",
    tests: IN_FLIGHT,
  },
  { id: "bytes-never-released", file: inFlight, find: "body.release();", replace: "", tests: IN_FLIGHT },
  {
    id: "bytes-not-announced",
    file: inFlight,
    find: 'Number(headers.get("Content-Length") ?? 0)',
    replace: "0",
    tests: IN_FLIGHT,
  },
  {
    id: "bytes-only-announced",
    file: inFlight,
    find: "this.#bytes = Math.max(this.#bytes, this.#arrived);",
    replace: "",
    tests: IN_FLIGHT,
  },
  {
    id: "bytes-before-authorization",
    file: inFlight,
    find: "{ highWaterMark: 0 }",
    replace: "{ highWaterMark: 1 }",
    tests: IN_FLIGHT,
  },
  {
    id: "bytes-without-time-limit",
    file: inFlight,
    find: "this.#timer = setTimeout(() => this.#refuse(tooSlow(this.#timeoutMs), controller), this.#timeoutMs);",
    replace: "",
    tests: IN_FLIGHT,
  },
  {
    id: "bytes-too-large-waits",
    file: inFlight,
    find: 'if (this.#bytes > bytesMax) return this.#refuse({ reason: "body-too-large", bytesMax }, controller);',
    replace: "",
    tests: IN_FLIGHT,
  },
];
