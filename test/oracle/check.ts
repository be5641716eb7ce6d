/**
 * Checks one message against one protocol version: with the official package's runtime schemas, with the
 * specification's JSON Schemas if they are available, and with hand-written rules for the rest.
 */

import { unknownFields } from "./known-fields.ts";
import { findMethod, isModern, isSpecMethod, type MethodRow, MODERN, type Side, VERSIONS } from "./methods.ts";
import { hasRuntime, runtimeProblems } from "./runtime.ts";
import { isJson, type Json, type Spec, specOf, step } from "./spec.ts";

/** The context of a message. */
export interface About {
  /** The protocol version to check against. */
  readonly version: string;
  readonly from: Side;
  /** For a response: the method of its request. Without it only the envelope is checked. */
  readonly requestMethod?: string | undefined;
  /** For a response: the params of its request (a 2025-11-25 `task` changes the result). */
  readonly requestParams?: unknown;
  /** The request had no readable id, so an error without one is correct in every version. */
  readonly unreadableId?: boolean | undefined;
}

/** Returns what is wrong with a message; empty if nothing is. */
export function checkMessage(message: unknown, about: About): string[] {
  if (!VERSIONS.includes(about.version)) return [`the oracle knows no version ${JSON.stringify(about.version)}`];
  if (Array.isArray(message)) return ["a batch is not one message"];
  if (!isJson(message)) return ["is not a JSON object"];
  const judge = new Judge(about);
  judge.message(message);
  return [...new Set(judge.problems)];
}

const STANDARD_CODES = [-32700, -32600, -32601, -32602, -32603];

/** Codes of the range that MCP reserves (-32020 to -32099), with the definition of the whole response. */
const TYPED_ERRORS: readonly { code: number; versions: readonly string[]; definition: string }[] = [
  { code: -32020, versions: MODERN, definition: "HeaderMismatchError" },
  { code: -32021, versions: MODERN, definition: "MissingRequiredClientCapabilityError" },
  { code: -32022, versions: MODERN, definition: "UnsupportedProtocolVersionError" },
  { code: -32042, versions: ["2025-11-25"], definition: "URLElicitationRequiredError" },
];

/** Versions whose error responses may have no id. `methods.test.ts` compares this with the schemas. */
export const ID_OPTIONAL_IN_ERRORS: readonly string[] = ["2025-11-25", ...MODERN];

class Judge {
  readonly problems: string[] = [];
  readonly about: About;
  readonly version: string;
  readonly spec: Spec | undefined;
  readonly fromServer: boolean;
  readonly modern: boolean;

  constructor(about: About) {
    this.about = about;
    this.version = about.version;
    this.spec = specOf(about.version);
    this.fromServer = about.from === "server";
    this.modern = isModern(about.version);
  }

  message(message: Json): void {
    if (message.id === null) this.say("id is null");
    const parts = ["method", "result", "error"].filter((key) => Object.hasOwn(message, key));
    if (parts.length !== 1) {
      this.say(`has ${parts.length === 0 ? "none" : parts.join(" and ")} of method, result and error`);
      return;
    }
    if (parts[0] === "result") this.result(message);
    else if (parts[0] === "error") this.error(message);
    else if (Object.hasOwn(message, "id")) this.request(message);
    else this.call(message, "JSONRPCNotification", false);
  }

  private request(message: Json): void {
    if (this.fromServer && this.modern) this.say(`a server sends no request in ${this.version}`);
    this.call(message, "JSONRPCRequest", true);
  }

  /** A request or a notification. */
  private call(message: Json, envelope: string, isRequest: boolean): void {
    this.against(envelope, message);
    const { method } = message;
    if (typeof method !== "string") return;
    const row = findMethod(method, this.about.from, this.version);
    if (row === undefined) {
      // A client may request anything and get -32601; a server must not use another version's methods.
      if (this.fromServer && isSpecMethod(method)) this.say(`a server sends no ${method} in ${this.version}`);
      return;
    }
    if ((row.result !== undefined) !== isRequest) this.say(`${method} is a ${isRequest ? "notification" : "request"}`);
    if (row.extension) {
      this.againstExtension(row.message, message);
      return;
    }
    this.against(row.message, message, false);
    if (this.fromServer) this.fields(step(this.definition(row.message), "properties", "params"), message.params);
  }

  private result(message: Json): void {
    this.against(this.named("JSONRPCResultResponse", "JSONRPCResponse"), message);
    const { result } = message;
    if (!isJson(result)) return;
    if (this.modern && !this.fromServer) {
      this.say(`a client sends no response in ${this.version}`);
      return;
    }
    const { requestMethod: method } = this.about;
    const row = method === undefined ? undefined : findMethod(method, otherSide(this.about.from), this.version);
    if (this.modern) this.modernResult(result, row);
    else if (row !== undefined) this.legacyResult(result, row);
  }

  private legacyResult(result: Json, row: MethodRow): void {
    const { requestParams } = this.about;
    const asTask = this.version === "2025-11-25" && isJson(requestParams) && isJson(requestParams.task);
    this.resultAs(asTask && isJson(result.task) ? "CreateTaskResult" : row.result, result);
  }

  private modernResult(result: Json, row: MethodRow | undefined): void {
    switch (result.resultType) {
      case undefined:
        this.say("the result has no resultType");
        break;
      case "complete":
        break;
      case "input_required":
        this.inputRequired(result, row);
        return;
      case "task":
        if (row !== undefined && row.method !== "tools/call") this.say(`${row.method} is not answered with a task`);
        this.againstExtension("CreateTaskResult", result);
        return;
      default:
        this.say(`resultType ${JSON.stringify(result.resultType)} is not defined`);
    }
    if (row?.extension) this.againstExtension(row.result, result);
    else if (row !== undefined) this.resultAs(row.result, result);
  }

  private inputRequired(result: Json, row: MethodRow | undefined): void {
    if (row !== undefined && !row.mayAskInput) this.say(`${row.method} is not answered with input_required`);
    if (result.inputRequests === undefined && result.requestState === undefined) {
      this.say("input_required carries neither inputRequests nor requestState");
    }
    this.resultAs("InputRequiredResult", result);
    // The package has no schema for the result itself, but one for each request inside.
    const asked = isJson(result.inputRequests) ? Object.entries(result.inputRequests) : [];
    for (const [key, request] of asked) {
      const method = isJson(request) ? request.method : undefined;
      const embedded = typeof method === "string" ? findMethod(method, "server", "2025-11-25") : undefined;
      if (embedded === undefined) continue;
      this.sayAll(`official ${embedded.message} in inputRequests/${key}`, this.runtime(embedded.message, request));
    }
  }

  private resultAs(definition: string | undefined, result: Json): void {
    if (definition === undefined) return;
    this.against(definition, result, false);
    if (this.fromServer) this.fields(this.definition(definition), result);
  }

  private error(message: Json): void {
    if (this.modern && !this.fromServer) this.say(`a client sends no response in ${this.version}`);
    const idLess = !Object.hasOwn(message, "id");
    const excused = idLess && this.about.unreadableId === true;
    // Older schemas require an id even if none could be read; a placeholder allows checking the rest.
    const judged = excused && !ID_OPTIONAL_IN_ERRORS.includes(this.version) ? { ...message, id: 0 } : message;
    this.against(this.named("JSONRPCErrorResponse", "JSONRPCError"), judged);
    const code = isJson(message.error) ? message.error.code : undefined;
    if (typeof code !== "number") return;
    const typed = TYPED_ERRORS.find((each) => each.code === code && each.versions.includes(this.version));
    if (typed) this.against(typed.definition, message, false);
    else if (!isAllowedCode(code, this.modern)) this.say(`error code ${code} is not defined in ${this.version}`);
  }

  /** Checks against both schemas, and for a server's envelope the properties that it does not have. */
  private against(definition: string, value: Json, isEnvelope = true): void {
    this.sayAll(`schema ${definition}`, this.spec?.has(definition) ? this.validate(definition, value) : []);
    this.sayAll(`official ${definition}`, this.runtime(definition, value));
    if (isEnvelope && this.fromServer && this.spec?.has(definition)) {
      this.problems.push(...unknownFields(this.spec, this.definition(definition), value));
    }
  }

  private againstExtension(definition: string | undefined, value: Json): void {
    const spec = specOf("ext-tasks");
    if (spec === undefined || definition === undefined) return;
    this.sayAll(`schema ${definition} (tasks)`, spec.validate(`${spec.root}${definition}`, value));
  }

  /** Checks a server's message for properties that this version does not have. */
  private fields(pointer: string, value: unknown): void {
    if (this.spec === undefined || !isJson(value)) return;
    // Every version allows `_meta` on params and results, even if a definition does not repeat it.
    const { _meta, ...rest } = value;
    this.problems.push(...unknownFields(this.spec, pointer, rest));
  }

  private definition(name: string): string {
    return `${this.spec?.root ?? "#/$defs/"}${name}`;
  }

  private validate(definition: string, value: Json): string[] {
    return this.spec?.validate(this.definition(definition), value) ?? [];
  }

  private runtime(definition: string, value: unknown): string[] {
    return runtimeProblems(this.version, definition, value);
  }

  /** Definitions that were renamed between versions. */
  private named(name: string, older: string): string {
    return this.spec?.has(name) || hasRuntime(this.version, name) ? name : older;
  }

  private say(problem: string): void {
    this.problems.push(problem);
  }

  private sayAll(source: string, problems: readonly string[]): void {
    this.problems.push(...problems.map((problem) => `${source}: ${problem}`));
  }
}

export function otherSide(side: Side): Side {
  return side === "client" ? "server" : "client";
}

/** Typed codes are checked elsewhere. The rest of JSON-RPC's reserved range may mostly not be used. */
function isAllowedCode(code: number, modern: boolean): boolean {
  if (code < -32768 || code > -32000 || STANDARD_CODES.includes(code)) return true;
  // Implementation-defined in legacy versions (-32002 was "resource not found"); not allowed in modern ones.
  return code >= -32019 && !modern;
}
