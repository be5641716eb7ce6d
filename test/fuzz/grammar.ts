/** Generates almost valid HTTP requests: well-formed messages of both eras with one or more errors. */
import type { Random } from "../chaos/random.ts";
import type { LiveValues } from "./live.ts";

/** One HTTP request. */
export interface Input {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  /** The JSON-RPC method, for reports; undefined if the body has none. */
  readonly rpc: string | undefined;
}

type Json = { [member: string]: unknown };

const LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
const MODERN = "2026-07-28";

const TOOLS = [
  "echo",
  "sum",
  "region",
  "throws",
  "refuses",
  "says",
  "asks",
  "lists-roots",
  "returns-questions",
  "wants-url",
  "once",
  "task",
  "task-asks",
  "changes",
  "no-such-tool",
  "__proto__",
  "constructor",
  "",
] as const;

const METHODS = [
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "tools/call",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "completion/complete",
  "logging/setLevel",
  "subscriptions/listen",
  "tasks/get",
  "tasks/result",
  "tasks/cancel",
  "tasks/update",
  "tasks/list",
  "own/echo",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/roots/list_changed",
  "own/heard",
  "roots/list",
  "sampling/createMessage",
  "elicitation/create",
  "rpc.discover",
  "tools/call ",
  "TOOLS/LIST",
  "\n\u001b[31mnew line",
  "__proto__",
  "toString",
  "",
] as const;

/** Values that are known to break parsers, schemas and logs. */
const NASTY: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  1,
  -1,
  1.5,
  1e308,
  -1e308,
  2 ** 53,
  -(2 ** 53),
  1e21,
  "",
  " ",
  "\u0000",
  "\ufeff",
  "\ud800",
  "\udc00x",
  "💥",
  "\r\n\r\n",
  "data: x\n\n",
  "\u001b[2J",
  "__proto__",
  "constructor",
  "toString",
  "%00",
  "%ff",
  "../..",
  "https://example.com/",
  "fuzz://fixed",
  "javascript:alert(1)",
  "-1",
  "NaN",
  "[object Object]",
  "'; DROP TABLE log; --",
  [],
  {},
  [[]],
  [null],
  { __proto__: null },
  { toJSON: 1 },
  JSON.parse('{"then":"x"}'),
  { constructor: { prototype: {} } },
  JSON.parse('{"__proto__":{"polluted":true}}'),
  "x".repeat(10_000),
  "é".repeat(3_000),
  Array.from({ length: 300 }, (_, at) => at),
];

function oneOf<T>(random: Random, values: readonly T[]): T {
  return values[random.int(0, values.length - 1)] as T;
}

export class Grammar {
  readonly #random: Random;
  readonly #live: LiveValues;
  #id = 0;

  constructor(random: Random, live: LiveValues) {
    this.#random = random;
    this.#live = live;
  }

  next(): Input {
    return this.#random.pick<() => Input>([
      [46, () => this.#post("modern")],
      [38, () => this.#post("legacy")],
      [4, () => this.#batch()],
      [5, () => this.#get()],
      [2, () => this.#delete()],
      [2, () => this.#httpSse()],
      [3, () => this.#anything()],
    ])();
  }

  #post(era: "modern" | "legacy"): Input {
    const message = era === "modern" ? this.#modernMessage() : this.#legacyMessage();
    const headers = era === "modern" ? this.#modernHeaders(message) : this.#legacyHeaders(message);
    return this.#finish("POST", "/mcp", headers, this.#mutated(message), String(message.method));
  }

  #batch(): Input {
    const members = this.#random.list(this.#random.int(0, 6), () => this.#mutated(this.#legacyMessage()));
    const headers = { ...this.#legacyHeaders({}), "MCP-Protocol-Version": "2025-03-26" };
    return this.#finish("POST", "/mcp", headers, members, "batch");
  }

  #get(): Input {
    const headers: Record<string, string> = { ...this.#session(), Accept: "text/event-stream" };
    const event = this.#random.chance(0.6) ? this.#live.pick("event", this.#random) : undefined;
    if (event !== undefined) headers["Last-Event-ID"] = this.#random.chance(0.8) ? event : this.#otherPlace(event);
    return this.#finish("GET", "/mcp", headers, undefined, "GET");
  }

  /** The id of another stream or another event of the same session. */
  #otherPlace(event: string): string {
    const parts = event.split("-");
    const at = this.#random.int(0, parts.length - 1);
    parts[at] = this.#random.pick([
      [2, this.#random.int(0, 2 ** 31).toString(36)],
      [1, (Number.parseInt(parts[at] ?? "", 36) + this.#random.int(-2, 2)).toString(36)],
      [1, "zzzzzzzzzz"],
      [1, ""],
    ]);
    return parts.join("-");
  }

  #delete(): Input {
    return this.#finish("DELETE", "/mcp", this.#session(), undefined, "DELETE");
  }

  #httpSse(): Input {
    const post = this.#live.pick("post", this.#random);
    if (post === undefined || this.#random.chance(0.3)) {
      const path = oneOf(this.#random, ["/sse", "/mcp"]);
      return this.#finish("GET", path, { Accept: "text/event-stream" }, undefined, "GET sse");
    }
    const message = this.#legacyMessage();
    const path = URL.canParse(post) ? new URL(post).pathname + new URL(post).search : post;
    return this.#finish("POST", path, { "Content-Type": "application/json" }, this.#mutated(message), "sse");
  }

  /** Any method, any path, any body. */
  #anything(): Input {
    const random = this.#random;
    const method = oneOf(random, ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]);
    const path = oneOf(random, ["/mcp", "/mcp/", "/", "/sse", "/messages", "/mcp?x=1", "/mcp%2f", "//mcp", "/%00"]);
    const body = random.chance(0.5) ? (oneOf(random, NASTY) as Json) : undefined;
    return this.#finish(method, path, this.#modernHeaders({ method: "tools/list" }), body, undefined);
  }

  #modernMessage(): Json {
    const method = this.#method();
    const params = { ...this.#params(method), _meta: this.#meta() };
    if (method === "tools/call" && this.#random.chance(0.3)) this.#answers(params);
    return { jsonrpc: "2.0", id: this.#nextId(), method, params };
  }

  #meta(): Json {
    const version = this.#random.chance(0.95) ? MODERN : oneOf(this.#random, [...LEGACY, "2099-01-01", ""]);
    return {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientCapabilities": this.#capabilities(),
      "io.modelcontextprotocol/clientInfo": { name: "fuzz", version: "1.0.0" },
      ...(this.#random.chance(0.3) ? { "io.modelcontextprotocol/logLevel": "debug" } : {}),
      ...(this.#random.chance(0.4) ? { progressToken: oneOf(this.#random, [0, 1, "t", ""]) } : {}),
      ...(this.#random.chance(0.1) ? { "mcp-edge/idempotencyKey": oneOf(this.#random, ["k1", "k2", "", 5]) } : {}),
    };
  }

  #capabilities(): Json {
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    const all = {
      elicitation: { form: {}, url: {} },
      sampling: { tools: {}, context: {} },
      roots: { listChanged: true },
    };
    return this.#random.pick<Json>([
      [4, { ...all, extensions }],
      [2, all],
      [1, {}],
      [1, { elicitation: {} }],
    ]);
  }

  /** Answers to questions of an earlier round. */
  #answers(params: Json): void {
    const state = this.#live.pick("state", this.#random);
    const key = this.#live.pick("question", this.#random) ?? "q";
    if (state !== undefined) params.requestState = state;
    const answer = this.#random.pick<unknown>([
      [5, { action: "accept", content: { name: "n" } }],
      [1, { action: "decline" }],
      [1, { action: "accept" }],
      [1, oneOf(this.#random, NASTY)],
    ]);
    params.inputResponses = { [key]: answer };
  }

  #legacyMessage(): Json {
    if (this.#random.chance(0.12)) return this.#initialize();
    if (this.#random.chance(0.06)) return this.#response();
    const method = this.#method();
    const params: Json = { ...this.#params(method) };
    if (this.#random.chance(0.4)) params._meta = { progressToken: this.#random.int(0, 3) };
    if (this.#random.chance(0.05)) params.task = { ttl: this.#random.int(0, 10_000) };
    const isNotification = method.startsWith("notifications/") || method === "own/heard";
    return { jsonrpc: "2.0", ...(isNotification ? {} : { id: this.#nextId() }), method, params };
  }

  #initialize(): Json {
    const protocolVersion = this.#random.chance(0.9) ? oneOf(this.#random, LEGACY) : "1999-01-01";
    const params = {
      protocolVersion,
      capabilities: this.#capabilities(),
      clientInfo: { name: "fuzz", version: "1.0.0" },
    };
    return { jsonrpc: "2.0", id: this.#nextId(), method: "initialize", params };
  }

  /** An answer to a question of the server. */
  #response(): Json {
    const asked = this.#live.pick("request", this.#random) ?? "0";
    const id: unknown = /^(\d+|"[\w-]*")$/.test(asked) ? JSON.parse(asked) : asked;
    const result = this.#random.pick<unknown>([
      [3, { action: "accept", content: { name: "n" } }],
      [1, { roots: [{ uri: "file:///a" }] }],
      [1, oneOf(this.#random, NASTY)],
    ]);
    return { jsonrpc: "2.0", id, result };
  }

  #method(): string {
    return this.#random.chance(0.5) ? "tools/call" : oneOf(this.#random, METHODS);
  }

  #nextId(): unknown {
    this.#id += 1;
    return this.#random.chance(0.9) ? this.#id : oneOf(this.#random, [0, "", "id", -1, Number.MAX_SAFE_INTEGER]);
  }

  #params(method: string): Json {
    const random = this.#random;
    const uri = () => oneOf(random, ["fuzz://fixed", "fuzz://bytes", "fuzz://throws", "fuzz://things/1?q=2", "x"]);
    const taskId = () => this.#live.pick("task", random) ?? "0".repeat(64);
    switch (method) {
      case "tools/call": {
        const name = oneOf(random, TOOLS);
        return { name, arguments: this.#toolArguments(name) };
      }
      case "prompts/get":
        return { name: oneOf(random, ["prompt", "none"]), arguments: { a: "1", b: "2" } };
      case "resources/read":
      case "resources/subscribe":
      case "resources/unsubscribe":
        return { uri: uri() };
      case "completion/complete":
        return {
          ref: random.chance(0.5) ? { type: "ref/prompt", name: "prompt" } : { type: "ref/resource", uri: uri() },
          argument: { name: oneOf(random, ["a", "b", "id"]), value: "v" },
        };
      case "logging/setLevel":
        return { level: oneOf(random, ["debug", "error", "loud"]) };
      case "subscriptions/listen":
        return { notifications: { toolsListChanged: true, resourceSubscriptions: random.list(random.int(0, 4), uri) } };
      case "tasks/get":
      case "tasks/result":
      case "tasks/cancel":
        return { taskId: taskId() };
      case "tasks/update":
        return { taskId: taskId(), inputResponses: { q: { action: "accept", content: { name: "n" } } } };
      case "notifications/cancelled":
        return { requestId: random.int(Math.max(0, this.#id - 5), this.#id), reason: "fuzz" };
      case "notifications/progress":
        return { progressToken: 1, progress: 1 };
      default:
        return method.endsWith("/list") && random.chance(0.5)
          ? { cursor: this.#live.pick("cursor", random) ?? "" }
          : {};
    }
  }

  #toolArguments(name: string): unknown {
    if (name === "sum") return { a: this.#random.int(-9, 9), b: 2 };
    if (name === "region") return { region: "eu" };
    return this.#random.chance(0.8) ? { text: "hello" } : oneOf(this.#random, NASTY);
  }

  #session(): Record<string, string> {
    const session = this.#live.pick("session", this.#random);
    return session === undefined || this.#random.chance(0.08) ? {} : { "Mcp-Session-Id": session };
  }

  #legacyHeaders(message: Json): Record<string, string> {
    const isFirst = message.method === "initialize";
    return {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      ...(isFirst ? {} : this.#session()),
      ...(this.#random.chance(0.5) ? { "MCP-Protocol-Version": oneOf(this.#random, LEGACY) } : {}),
    };
  }

  #modernHeaders(message: Json): Record<string, string> {
    const { name, uri, arguments: args } = (message.params ?? {}) as Json;
    const named = typeof name === "string" ? name : typeof uri === "string" ? uri : undefined;
    const region = (args as Json | null | undefined)?.region;
    return {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": MODERN,
      "Mcp-Method": String(message.method),
      ...(named === undefined ? {} : { "Mcp-Name": named }),
      ...(typeof region === "string" ? { "Mcp-Param-Region": region } : {}),
    };
  }

  /** Usually the message itself, otherwise with up to three parts replaced, removed or added. */
  #mutated(message: Json): Json {
    if (this.#random.chance(0.45)) return message;
    const copy = structuredClone(message);
    for (let count = this.#random.int(1, 3); count > 0; count -= 1) this.#mutate(copy);
    return copy;
  }

  #mutate(root: Json): void {
    let at = root;
    // Descends to a random depth.
    while (this.#random.chance(0.6)) {
      const objects = Object.values(at).filter((value) => typeof value === "object" && value !== null);
      if (objects.length === 0) break;
      at = oneOf(this.#random, objects) as Json;
    }
    const keys = Object.keys(at);
    const key = keys.length > 0 && this.#random.chance(0.8) ? oneOf(this.#random, keys) : this.#nastyText();
    // A copy, because the next mutation may change it.
    const value = this.#random.chance(0.95) ? structuredClone(oneOf(this.#random, NASTY)) : this.#deep();
    if (this.#random.chance(0.25)) delete at[key];
    else Object.defineProperty(at, key, { value, enumerable: true, configurable: true, writable: true });
  }

  #nastyText(): string {
    const value = oneOf(this.#random, NASTY);
    return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  }

  #deep(): unknown {
    let value: unknown = "deep";
    for (let level = this.#random.size(2, 200); level > 0; level -= 1)
      value = this.#random.chance(0.5) ? [value] : { value };
    return value;
  }

  #finish(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    message: unknown,
    rpc: string | undefined,
  ): Input {
    const body = message === undefined ? undefined : this.#bytes(Buffer.from(JSON.stringify(message) ?? ""));
    return { method, path, headers: this.#wrongHeaders(headers), body, rpc };
  }

  /** Sometimes damages the bytes themselves. */
  #bytes(body: Buffer): Buffer {
    const random = this.#random;
    if (random.chance(0.92) || body.length === 0) return body;
    const at = random.int(0, body.length - 1);
    const wild = Buffer.from(random.list(random.int(1, 4), () => random.int(0, 255)));
    return random.pick([
      [2, Buffer.concat([body.subarray(0, at), wild, body.subarray(at)])],
      [2, Buffer.concat([body.subarray(0, at), wild, body.subarray(Math.min(body.length, at + wild.length))])],
      [1, body.subarray(0, at)],
      [1, Buffer.concat([Buffer.from("\ufeff"), body])],
      [1, Buffer.concat([body, body])],
      [1, Buffer.from(body.toString("latin1"), "utf16le")],
    ]);
  }

  #wrongHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
    const changed: Record<string, string> = { ...headers };
    const random = this.#random;
    if (random.chance(0.15))
      changed.Authorization = oneOf(random, ["Bearer user1", "Bearer user2", "Bearer nobody", "x"]);
    if (random.chance(0.04))
      changed.Accept = oneOf(random, ["application/json", "text/event-stream", "text/html", "*/*", ",;q=0"]);
    if (random.chance(0.02)) changed["Content-Type"] = oneOf(random, ["text/plain", "application/json; charset=x", ""]);
    if (random.chance(0.02)) changed.Origin = oneOf(random, ["https://evil.example", "null", "http://127.0.0.1", "x"]);
    if (random.chance(0.02)) changed["MCP-Protocol-Version"] = oneOf(random, [...LEGACY, MODERN, "", "latest"]);
    if (random.chance(0.02))
      changed["Mcp-Name"] = oneOf(random, ["=?base64?!!?=", "=?base64?gA==?=", "x".repeat(2_000)]);
    if (random.chance(0.03)) delete changed[oneOf(random, Object.keys(changed)) ?? ""];
    // A value that a header cannot carry is sent in the Base64 form, or not at all.
    for (const [name, value] of Object.entries(changed)) {
      if (!/^[\t\x20-\x7e]*$/.test(value)) changed[name] = `=?base64?${Buffer.from(value).toString("base64")}?=`;
    }
    return changed;
  }
}
