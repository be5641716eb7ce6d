/** Exchanges with random secrets in every place where clients, servers and Workers send them. */
import { randomBytes, randomUUID } from "node:crypto";
import type { Header } from "../../src/recorder/entry.ts";
import type { Recorder } from "../../src/recorder/recorder.ts";
import type { TailEvent, TailEventBody } from "../../src/recorder/tail/tail-event.ts";

/** The formats of random secrets. */
const FORMS: readonly (() => string)[] = [
  () => randomBytes(16).toString("hex"),
  () => randomBytes(24).toString("base64url"),
  () => randomBytes(24).toString("base64"),
  () => randomUUID(),
  () => `sk-${randomBytes(20).toString("hex")}`,
  () =>
    ["eyJhbGciOiJFUzI1NiJ9", randomBytes(30).toString("base64url"), randomBytes(32).toString("base64url")].join("."),
  () => String(10 ** 11 + Math.floor(Math.random() * 9 * 10 ** 11)),
  () => `${randomBytes(4).toString("hex")}@${randomBytes(4).toString("hex")}!"'\\\u00e9`,
];

/** Secrets that users choose. Only their location distinguishes them from other text. */
const PHRASES = ["correct horse battery staple", "opensesame", "Winter2026", "my dog is called Rex", "hunter2hunter2"];

/** Returns a random secret. */
export function newSecret(): string {
  const form = FORMS[Math.floor(Math.random() * FORMS.length)] ?? randomUUID;
  return form();
}

/** Returns a secret of any kind with a random part, so that it cannot occur by chance. */
export function newText(): string {
  const phrase = PHRASES[Math.floor(Math.random() * PHRASES.length)] ?? "";
  return Math.random() < 0.3 ? `${phrase} ${randomBytes(3).toString("hex")}` : newSecret();
}

/** An exchange with its secrets. */
export interface Planted {
  /** Values that must not be shown without `--contents`. */
  readonly contents: readonly string[];
  /** Values that must never be shown. */
  readonly tokens: readonly string[];
}

let exchanges = 0;

/** Records a tool call with secrets everywhere. `repeat` is a token that the server repeats in its texts. */
export function recordPlanted(recorder: Recorder): Planted {
  exchanges += 1;
  const id = `planted.${exchanges}`;
  const tokens = Array.from({ length: 12 }, newSecret);
  const [bearer, cookie, session, event, argument, state, custom, query, marked, refreshed, basic, dpop] = tokens as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const contents = Array.from({ length: 16 }, newText);
  const next = (() => {
    let at = 0;
    return () => contents[at++ % contents.length] ?? "";
  })();
  const headers: Header[] = [
    ["Host", "127.0.0.1:8787"],
    ["Authorization", `Bearer ${headerSafe(bearer)}`],
    ["Proxy-Authorization", `Basic ${btoa(`user:${headerSafe(basic)}`)}`],
    ["Cookie", `a=1; session=${headerSafe(cookie)}`],
    ["Mcp-Session-Id", headerSafe(session)],
    ["Last-Event-ID", headerSafe(event)],
    ["X-Api-Key", headerSafe(custom)],
    ["DPoP", headerSafe(dpop)],
    ["Mcp-Param-City", headerSafe(next())],
    ["X-Forwarded-For", headerSafe(next())],
    ["Content-Type", "application/json"],
  ];
  const path = `/mcp?access_token=${encodeURIComponent(query)}&q=${encodeURIComponent(next())}`;
  const exchange = recorder.begin({ atMs: Date.now(), method: "POST", path, headers }, { exchangeId: id });
  const call = {
    jsonrpc: "2.0",
    id: exchanges,
    method: "tools/call",
    params: {
      name: "pay",
      requestState: state,
      arguments: {
        apiKey: argument,
        card: marked,
        note: next(),
        [newSecret()]: 1,
        list: [next(), { deep: next() }],
        pin: 482913,
      },
      _meta: { progressToken: 1, "example.com/extra": next() },
    },
  };
  exchange.requestBody({ json: call, characters: 400 });
  const echo = `${bearer} and ${cookie} and ${argument}`;
  takeEvents(recorder, id, [
    { type: "log", level: "info", message: ["user", { note: next(), echo }, next()], errors: [] },
    {
      type: "log",
      level: "error",
      message: [`failed (${randomUUID()})`, next()],
      errors: [
        { name: "Error", message: `${next()} ${echo}`, stack: `${next()}\n    at handler (file:///a/index.js:1:1)` },
      ],
    },
    { type: "exception", name: next(), message: `${next()} ${bearer}`, stack: `Error: ${next()}\n    at f (a.js:1:1)` },
  ]);
  takeSpans(recorder, id, next, [query, refreshed]);
  exchange.response(200, [
    ["Set-Cookie", `sid=${headerSafe(refreshed)}; HttpOnly`],
    ["Location", `https://user:${encodeURIComponent(refreshed)}@example.com/cb?code=${encodeURIComponent(query)}`],
    ["WWW-Authenticate", `Bearer error="invalid_token", error_description="${headerSafe(next()).replaceAll('"', "")}"`],
    ["Content-Type", "text/event-stream"],
  ]);
  const progress = {
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: { progressToken: 1, progress: 1, message: next() },
  };
  exchange.message(progress, Date.now(), 100, event);
  const question = {
    jsonrpc: "2.0",
    id: "q",
    method: "elicitation/create",
    params: {
      message: next(),
      requestedSchema: { type: "object", properties: { [newSecret()]: { type: "string", description: next() } } },
    },
  };
  exchange.message(question, Date.now(), 100, newSecret());
  const result =
    Math.random() < 0.5
      ? {
          result: {
            content: [{ type: "text", text: `${next()} ${echo}` }],
            structuredContent: { token: refreshed, card: marked, value: next() },
            isError: Math.random() < 0.5,
            nextCursor: state,
          },
        }
      : {
          error: {
            code: -32603,
            message: `${next()} ${echo}`,
            data: { reason: next(), detail: next(), access_token: refreshed },
          },
        };
  exchange.message({ jsonrpc: "2.0", id: exchanges, ...result }, Date.now(), 300, newSecret());
  exchange.complete(Date.now());
  return { contents: [...contents, ...tokens], tokens };
}

/** Lists a tool whose schema marks a member as secret. */
export function listTools(recorder: Recorder): void {
  const exchange = recorder.begin({ atMs: Date.now(), method: "POST", path: "/mcp", headers: [] });
  exchange.requestBody({ json: { jsonrpc: "2.0", id: 1, method: "tools/list" }, characters: 40 });
  const schema = { type: "object", properties: { card: { type: "string", format: "password" } } };
  const tools = [
    {
      name: "pay",
      inputSchema: schema,
      outputSchema: { ...schema, properties: { card: { type: "string", writeOnly: true } } },
    },
  ];
  exchange.response(200, []);
  exchange.responseBody({ jsonrpc: "2.0", id: 1, result: { tools } }, Date.now(), 100);
  exchange.complete(Date.now());
}

function headerSafe(text: string): string {
  return text.replace(/[^\t\x20-\x7e]/g, "");
}

function takeEvents(recorder: Recorder, exchange: string, bodies: readonly TailEventBody[]): void {
  const onset: TailEventBody = { type: "onset", spanId: `s${exchange}`, isObject: false, cause: "fetch", exchange };
  const events = [onset, ...bodies].map(
    (event, sequence): TailEvent => ({
      invocation: `i${exchange}`,
      trace: `t${exchange}`,
      sequence,
      atMs: Date.now(),
      event,
    }),
  );
  recorder.takeTail(events);
}

/** Spans of storage and of requests to other servers. */
function takeSpans(recorder: Recorder, exchange: string, next: () => string, tokens: readonly string[]): void {
  const sql = next().replaceAll("'", "''");
  const spans: readonly (readonly [name: string, values: Record<string, string>])[] = [
    [
      "durable_object_storage_exec",
      { "db.query.text": `INSERT INTO note VALUES ('${sql}', 42) -- ${sql.replaceAll("\n", " ")}` },
    ],
    ["durable_object_storage_kv_get", { "cloudflare.durable_object.kv.query.keys": `user:${tokens[0]}` }],
    ["fetch", { "url.full": `https://u:${tokens[1]}@api.example.com/v1/items?key=${tokens[0]}#${tokens[1]}` }],
    ["kv_get", { "cloudflare.kv.query.keys": tokens[1] ?? "" }],
  ];
  for (const [index, [name, values]] of spans.entries()) {
    const spanId = `${exchange}.${index}`;
    const event = (body: TailEventBody, span: string): TailEvent => ({
      invocation: `i${exchange}`,
      trace: `t${exchange}`,
      span,
      sequence: 10 + index,
      atMs: Date.now(),
      event: body,
    });
    recorder.takeTail([
      event({ type: "spanOpen", name, spanId }, `s${exchange}`),
      event({ type: "attributes", values }, spanId),
      event({ type: "spanClose" }, spanId),
    ]);
  }
}

/** Returns the secrets that a text contains, unchanged or encoded in JSON or a URL. */
export function findSecrets(text: string, secrets: Iterable<string>): string[] {
  const found: string[] = [];
  for (const secret of secrets) {
    const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), headerSafe(secret)];
    if (forms.some((form) => form.length >= 6 && text.includes(form))) found.push(secret);
  }
  return found;
}
