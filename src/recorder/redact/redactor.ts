/**
 * Redacts everything that the recorder stores.
 *
 * Secrets are always replaced: tokens, cookies, session ids, event ids, sealed states, keys, and values that the server's
 * schemas mark as secret. Without `contents`, arguments, results, texts, log lines and error messages are replaced by their
 * shape.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Header } from "../entry.ts";
import { hideKey, hidePath, hideUrl } from "./address.ts";
import { readSecretsOfHeader, redactHeader } from "./headers.ts";
import { ANY, MESSAGE_RULES, type MemberRules, type Visibility } from "./member-rules.ts";
import { type SecretPath, ServerCatalog } from "./schemas.ts";
import { isSecret, KnownSecrets, REDACTED } from "./secrets.ts";
import { shapeOf, toMember } from "./shape.ts";
import { hideLiterals } from "./sql.ts";
import { describeText, isName, isReason } from "./words.ts";

/** The request that a response belongs to. */
export interface MessageContext {
  readonly method?: string | undefined;
  readonly tool?: string | undefined;
}

/** Members whose values are secrets everywhere in a message. */
const SEALED: ReadonlySet<string> = new Set([
  "requestState",
  "cursor",
  "nextCursor",
  "taskId",
  "elicitationId",
  "traceparent",
]);

/** The maximum length of a string in characters, and the maximum depth of a value. */
const [TEXT_MAX, DEPTH_MAX] = [65_536, 64];

/** The maximum length of a log line or statement, in characters. */
const LINE_MAX = 4_096;

export class Redactor {
  /** Whether arguments, results and log lines are recorded without redaction. */
  readonly contents: boolean;
  readonly secrets: KnownSecrets = new KnownSecrets();
  readonly catalog: ServerCatalog = new ServerCatalog();

  constructor(contents: boolean) {
    this.contents = contents;
  }

  /** Redacts a JSON-RPC message or any other JSON value. */
  message(message: unknown, context: MessageContext = {}): unknown {
    if (!isObject(message)) return this.value(message);
    if (!this.contents) return this.#show(message, MESSAGE_RULES, 0);
    return this.#copy(message, this.#secretPaths(message, context), 0);
  }

  /** Redacts a value that the protocol does not define, such as a value from storage. */
  value(value: unknown): unknown {
    return this.contents ? this.#copy(value, [], 0) : shapeOf(value);
  }

  /** Redacts a log line or the message of an error. */
  line(text: string): string {
    if (!this.contents) return describeText(text);
    return this.text(text, LINE_MAX);
  }

  /** Replaces the secrets in a string, regardless of `contents`, and limits its length. */
  text(text: string, max: number = TEXT_MAX): string {
    const shown = this.secrets.redact(text.length > max * 2 ? text.slice(0, max * 2) : text);
    return shown.length > max ? `${shown.slice(0, max)}…` : shown;
  }

  /** Redacts a name that a client or an author chose, such as the name of a tool. */
  name(text: string): string {
    if (this.catalog.has(text)) return this.text(text, 200);
    if (!this.contents) return isName(text) ? text : describeText(text);
    return this.text(text, 200);
  }

  uri(text: string): string {
    if (this.catalog.has(text) && !/[?#@]/.test(text)) return this.text(text, 300);
    return this.contents ? this.text(text.replace(/[?#].*/s, ""), 300) : hideUrl(text);
  }

  /** Adds the values in a query to the known secrets. The query itself is not shown. */
  readQuery(path: string): void {
    const [, query = ""] = path.split("?", 2);
    for (const pair of query.split(/[&#]/)) {
      const [name = "", value = ""] = pair.split("=", 2);
      if (value === "" || (isName(value) && !isSecret(name, value))) continue;
      this.secrets.add(value);
      this.secrets.add(decode(value));
    }
  }

  /** Replaces the secrets in a stored value that became known after it was stored. */
  redactAgain<T>(stored: T): T {
    return this.#redactTexts(stored) as T;
  }

  #redactTexts(value: unknown): unknown {
    if (typeof value === "string") return this.secrets.redact(value);
    if (Array.isArray(value)) return value.map((each) => this.#redactTexts(each));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [this.secrets.redact(name), this.#redactTexts(member)]),
    );
  }

  /** Redacts the headers of a request or response, and adds their secrets to the known secrets. */
  headers(headers: readonly Header[]): readonly Header[] {
    for (const header of headers) for (const secret of readSecretsOfHeader(header)) this.secrets.add(secret);
    return headers.map(([name, value]) => [this.#headerName(name), redactHeader(name, value, this)]);
  }

  statement(sql: string): string {
    return this.contents ? this.text(sql.replace(/\s+/g, " ").trim(), LINE_MAX) : hideLiterals(sql);
  }

  key(key: string): string {
    return this.contents ? this.text(key, 300) : hideKey(key);
  }

  url(url: string): string {
    return this.contents ? this.text(hideSecretsOfUrl(url), 300) : hideUrl(url);
  }

  path(path: string): string {
    return this.contents ? this.text(path.replace(/[?#].*/s, ""), 300) : hidePath(path);
  }

  #headerName(name: string): string {
    return /^[A-Za-z-]{1,40}$/.test(name) || isName(name) ? name : describeText(name);
  }

  #secretPaths(message: JsonObject, { method, tool }: MessageContext): readonly SecretPath[] {
    const { params, result } = message;
    if (isObject(params) && message.method === "tools/call" && typeof params.name === "string") {
      const paths = this.catalog.tool(params.name)?.secretArguments ?? [];
      return paths.map((path) => ["params", "arguments", ...path]);
    }
    if (isObject(result) && method === "tools/call" && tool !== undefined) {
      const paths = this.catalog.tool(tool)?.secretResults ?? [];
      return paths.map((path) => ["result", "structuredContent", ...path]);
    }
    return [];
  }

  /** Copies a value and replaces its secrets. */
  #copy(value: unknown, secrets: readonly SecretPath[], depth: number): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= DEPTH_MAX) return "<nested deeper>";
    if (Array.isArray(value)) {
      const inner = secrets.filter(([first]) => first === ANY).map((path) => path.slice(1));
      return value.map((each) => (isEnd(inner) ? this.#hide(each) : this.#copy(each, inner, depth + 1)));
    }
    const members = Object.entries(value).map(([name, member]: [string, unknown]) => {
      const inner = secrets.filter(([first]) => first === name).map((path) => path.slice(1));
      return [this.text(name, 200), this.#copyMember(name, member, inner, depth)] as const;
    });
    return Object.fromEntries(members);
  }

  #copyMember(name: string, member: unknown, inner: readonly SecretPath[], depth: number): unknown {
    if (isEnd(inner) || SEALED.has(name)) return this.#hide(member);
    return isSecret(name, member) ? this.#hide(member) : this.#copy(member, inner, depth + 1);
  }

  /** Replaces all values in a secret value, and adds its strings to the known secrets. */
  #hide(value: unknown): unknown {
    if (typeof value === "string") {
      this.secrets.add(value);
      return REDACTED;
    }
    if (Array.isArray(value)) return value.map((each) => this.#hide(each));
    if (!isObject(value)) return REDACTED;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.#hide(member)]));
  }

  /** Returns the members of a value that the protocol defines, and the shape of all others. */
  #show(value: unknown, rules: MemberRules | undefined, depth: number): unknown {
    if (!rules || depth >= DEPTH_MAX) return shapeOf(value);
    if (rules.visibility === "all") return this.#showAll(value, depth);
    const child = (name: string) => rules.members.get(name) ?? rules.members.get(ANY);
    if (Array.isArray(value)) {
      return rules.members.has(ANY) ? value.map((each) => this.#show(each, child(ANY), depth + 1)) : shapeOf(value);
    }
    if (isObject(value)) {
      const members = Object.entries(value).map(([name, member], index) => {
        if (SEALED.has(name)) return [name, REDACTED] as const;
        const known = rules.members.has(name) || this.catalog.has(name);
        return [known ? name : toMember(name, index), this.#show(member, child(name), depth + 1)] as const;
      });
      return Object.fromEntries(members);
    }
    return rules.visibility ? this.#showLeaf(value, rules.visibility) : shapeOf(value);
  }

  #showAll(value: unknown, depth: number): unknown {
    if (depth >= DEPTH_MAX) return "<nested deeper>";
    if (Array.isArray(value)) return value.map((each) => this.#showAll(each, depth + 1));
    if (!isObject(value)) return this.#showLeaf(value, "name");
    return Object.fromEntries(
      Object.entries(value).map(([name, member], index) => [toMember(name, index), this.#showAll(member, depth + 1)]),
    );
  }

  #showLeaf(value: unknown, visibility: Visibility): unknown {
    if (typeof value !== "string") return value;
    if (visibility === "reason") return isReason(value) ? value : describeText(value);
    return visibility === "uri" ? this.uri(value) : this.name(value);
  }
}

/** Returns whether one of the paths ends here. */
function isEnd(paths: readonly SecretPath[]): boolean {
  return paths.some((path) => path.length === 0);
}

/** Removes user, password, query and fragment. */
function hideSecretsOfUrl(url: string): string {
  return url.replace(/[?#].*/s, "").replace(/^([a-z][a-z\d+.-]*:\/\/)[^/@]*@/i, "$1");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // A malformed escape.
    return text;
  }
}
