/**
 * Records one HTTP exchange in an entry, as the proxy sees it.
 *
 * @module
 */
import {
  isObject,
  type JsonObject,
  type ParsedMessage,
  parseMessage,
  type RequestId,
} from "../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../core/protocol/lifecycle.ts";
import * as META from "../../core/protocol/meta.ts";
import { listTargets } from "../../core/protocol/targets.ts";
import type { EntryKind, Header } from "../entry.ts";
import { MESSAGE_CHARACTERS_MAX, MESSAGES_CHARACTERS_MAX, MESSAGES_MAX } from "../limits.ts";
import { shapeOf } from "../redact/shape.ts";
import type { Assembly } from "./assembly.ts";
import { identify } from "./callers.ts";
import type { EntryFacts, LiveEntry } from "./live-entry.ts";
import { linkQuestion, linkRequest, linkResult } from "./message-links.ts";
import { type Ending, endingOf, endingOfStatus } from "./outcome.ts";
import { type Cut, findHeader, toVersion, type WireBody, type WireRequest } from "./wire.ts";

/** A request of the client that is waiting for its response. */
interface Waiting {
  readonly method: string;
  readonly tool: string | undefined;
}

/** The duration from which a request is marked as slow, in milliseconds. */
const SLOW_MS = 1_000;

const KINDS: Readonly<Record<ParsedMessage["kind"], EntryKind>> = {
  request: "request",
  notification: "notification",
  response: "answer",
  invalid: "request",
};

/** One exchange. Its methods are called in the order of the events on the wire. */
export class WireExchange {
  readonly entry: LiveEntry;
  readonly #assembly: Assembly;
  readonly #startedAtMs: number;
  readonly #waiting = new Map<RequestId, Waiting>();
  /** The hash of the session id, for the keys of links. Empty if there is no session. */
  readonly #session: string;
  #status: number | undefined;
  #body: unknown;
  #ending: Ending | undefined;
  #hasAsked = false;
  #characters = 0;

  constructor(entry: LiveEntry, request: WireRequest, assembly: Assembly) {
    this.entry = entry;
    this.#assembly = assembly;
    this.#startedAtMs = request.atMs;
    assembly.redactor.readQuery(request.path);
    entry.requestHeaders = assembly.redactor.headers(request.headers);
    const { facts, sessionKey, token, endpoint } = identify(request, assembly);
    this.#session = sessionKey;
    Object.assign(entry, { facts, token, endpoint });
    const lastEvent = findHeader(request.headers, "last-event-id");
    if (lastEvent !== undefined) {
      entry.marks.add("resumed");
      const resumed = assembly.links.events.get(assembly.hash(lastEvent));
      if (resumed !== undefined) this.#relate(resumed, "resumes");
    }
    assembly.touch(entry);
  }

  /** Records the complete body of the request. */
  requestBody(body: WireBody): void {
    const { entry } = this;
    this.#assembly.touch(entry);
    if (!("json" in body)) {
      entry.requestBody = `<bytes, ${body.bytes}>`;
      return;
    }
    const messages: readonly unknown[] = Array.isArray(body.json) ? body.json : [body.json];
    const parsed = messages.map(parseMessage);
    if (parsed.every(({ kind }) => kind === "invalid")) {
      entry.requestBody = this.#assembly.redactor.value(body.json);
      return;
    }
    for (const [index, each] of parsed.entries()) {
      const message = messages[index] as JsonObject;
      if (each.kind === "request") this.#takeRequest(message, each.message.id);
      this.#store(message, { from: "client", atMs: this.#startedAtMs, characters: body.characters / messages.length });
      if (each.kind === "response") this.#takeAnswer(message);
    }
    entry.kind = KINDS[parsed[0]?.kind ?? "invalid"];
    if (isObject(messages[0])) this.#describe(messages[0]);
  }

  /** Records the status and headers of the response. */
  response(status: number, headers: readonly Header[]): void {
    const { entry } = this;
    this.#status = status;
    const { http } = entry.facts;
    if (http) entry.facts = { ...entry.facts, http: { ...http, status } };
    entry.responseHeaders = this.#assembly.redactor.headers(headers);
    const session = findHeader(headers, "mcp-session-id");
    if (session !== undefined) this.#openSession(session);
    this.#assembly.touch(entry);
  }

  /** Records a JSON response body. */
  responseBody(json: unknown, atMs: number, characters: number): void {
    this.#body = json;
    const messages: readonly unknown[] = Array.isArray(json) ? json : [json];
    for (const each of messages) this.message(each, atMs, characters / messages.length);
  }

  /** Records a message of the server. @param eventId The id of the event in which it arrived. */
  message(message: unknown, atMs: number, characters: number, eventId?: string): void {
    const event = eventId === undefined ? undefined : this.event(eventId);
    const parsed = parseMessage(message);
    const waiting = parsed.kind === "response" ? this.#waiting.get(parsed.message.id ?? "") : undefined;
    // The names and secrets that a list result declares apply to the redaction of that result.
    if (parsed.kind === "response" && "result" in parsed.message) {
      this.#assembly.redactor.catalog.read(parsed.message.result);
    }
    this.#store(message, { from: "server", atMs, characters, event }, waiting);
    if (parsed.kind === "notification") this.#takeNotification(parsed.message.method);
    else if (parsed.kind === "response") this.#takeResponse(message as JsonObject, waiting, atMs);
    else if (parsed.kind === "request") {
      this.#hasAsked = true;
      this.entry.marks.add("question");
      linkQuestion(parsed.message, this.entry, this.#session, this.#assembly);
    }
    this.#assembly.touch(this.entry);
  }

  /** Records the id of an event, from which a client may resume. Returns a short hash of it. */
  event(eventId: string): string {
    const { links, hash } = this.#assembly;
    const event = hash(eventId);
    if (links.events.get(event) === undefined) links.events.set(event, this.entry.id);
    return event.slice(0, 8);
  }

  /** Ends the entry when the response is complete. */
  complete(atMs: number): void {
    // The response to a request that was accepted with 202 arrives on the stream of the session (2024-11-05).
    if (this.#status === 202 && this.#waiting.size > 0) this.#awaitAnswer();
    else this.#end(atMs, this.#endingOfResponse());
  }

  /** Ends the entry when the connection is lost. The response can still complete if the client only half-closed it. */
  cut(how: Cut, atMs: number): void {
    if (this.entry.outcome !== "running") return;
    this.#end(atMs, { outcome: how, ...(this.#status === undefined ? { text: "before the response" } : {}) });
  }

  #end(atMs: number, { outcome, text }: Ending): void {
    const { entry } = this;
    entry.outcome = outcome;
    entry.outcomeText = text;
    entry.ms = Math.max(0, atMs - this.#startedAtMs);
    if (entry.ms >= SLOW_MS && entry.kind === "request" && !this.#hasAsked) entry.marks.add("slow");
    this.#assembly.exchangeEnded(entry);
  }

  #endingOfResponse(): Ending {
    const status = this.#status;
    if (status === undefined) return { outcome: "cut-by-server", text: "no response" };
    if (status >= 400) return endingOfStatus(status, this.#body, (text) => this.#showText(text));
    if (this.#ending) return this.#ending;
    if (this.#waiting.size > 0) return { outcome: "cut-by-server", text: "the stream ended without a result" };
    return { outcome: "ok" };
  }

  #awaitAnswer(): void {
    for (const id of this.#waiting.keys()) {
      const answer = (message: unknown, atMs: number) => {
        this.message(message, atMs, 0);
        if (this.#waiting.size === 0) this.#end(atMs, this.#ending ?? { outcome: "ok" });
      };
      this.#assembly.links.calls.set(`${this.#session}|${String(id)}`, { entry: this.entry, answer });
    }
  }

  #takeRequest(message: JsonObject, id: RequestId): void {
    const { params, method } = message;
    const name = isObject(params) ? params.name : undefined;
    const tool = method === "tools/call" && typeof name === "string" ? name : undefined;
    this.#waiting.set(id, { method: String(method), tool });
    linkRequest(message, this.entry, this.#assembly);
  }

  /** Reads method, target, client and version from the first message. */
  #describe(message: JsonObject): void {
    const { redactor } = this.#assembly;
    const { method } = message;
    const params = isObject(message.params) ? message.params : undefined;
    const meta = readMeta(params);
    const opening = method === "initialize" ? params : undefined;
    const info = meta[META.clientInfo] ?? opening?.clientInfo;
    const version = meta[META.protocolVersion] ?? opening?.protocolVersion;
    const target = listTargets(message)[0];
    const name = target && target.kind !== "task" ? target.name : undefined;
    this.entry.facts = {
      ...this.entry.facts,
      ...(typeof method === "string" ? { method: redactor.name(method) } : {}),
      ...(name === undefined ? {} : { target: name.includes(":") ? redactor.uri(name) : redactor.name(name) }),
      ...(isObject(info) ? { client: this.#toClient(info) } : {}),
      ...(typeof version === "string" ? toVersion(version) : {}),
    };
  }

  #toClient({ name, version }: JsonObject): { readonly name: string; readonly version: string } {
    const shown = (value: unknown) =>
      typeof value === "string" ? this.#assembly.redactor.name(value).slice(0, 60) : "";
    return { name: shown(name), version: shown(version) };
  }

  /** Links an answer of the client to the exchange in which the server asked the question. */
  #takeAnswer(message: JsonObject): void {
    const { links } = this.#assembly;
    const key = `${this.#session}|${String(message.id)}`;
    const question = links.questions.get(key);
    if (!question) return;
    links.questions.delete(key);
    this.entry.facts = { ...this.entry.facts, target: question.method };
    const asker = this.#relate(question.entryId, "answer");
    const stored = this.entry.messages.at(-1);
    if (asker && stored && asker.messages.length < MESSAGES_MAX * 2) asker.messages.push(stored);
  }

  #takeNotification(method: string): void {
    if (method === "notifications/progress") this.entry.marks.add("progress");
    if (method === "notifications/message") this.entry.marks.add("log");
  }

  #takeResponse(message: JsonObject, waiting: Waiting | undefined, atMs: number): void {
    const id = message.id as RequestId | undefined;
    if (waiting && id !== undefined) this.#waiting.delete(id);
    else if (id !== undefined) this.#passOn(message, id, atMs);
    const { result } = message;
    if (isObject(result)) {
      if (waiting?.tool !== undefined) this.#checkOutput(waiting.tool, result);
      linkResult(result, this.entry, this.#assembly);
      this.#readVersion(result);
      this.#readServer(result);
      if (result.resultType === "input_required") this.entry.marks.add("question");
    }
    // If a body contains several requests, the first that failed determines the outcome.
    const isDecided = this.#ending !== undefined && this.#ending.outcome !== "ok";
    if (waiting && !isDecided) this.#ending = endingOf(message, (text) => this.#showText(text));
  }

  /** Checks a structured result against the output schema, because the stored result may be redacted. */
  #checkOutput(tool: string, { structuredContent, isError, resultType = "complete" }: JsonObject): void {
    const schema = this.#assembly.redactor.catalog.tool(tool)?.outputSchema;
    if (schema === undefined || isError === true || resultType !== "complete") return;
    const place = this.#assembly.checkOutput(schema, structuredContent);
    this.entry.outputProblem = place === undefined ? undefined : this.#assembly.redactor.key(place);
  }

  /** Passes a response to the exchange of its request, if the client receives it in another exchange. */
  #passOn(message: JsonObject, id: RequestId, atMs: number): void {
    const { links } = this.#assembly;
    const key = `${this.#session}|${String(id)}`;
    const call = links.calls.get(key);
    if (!call || call.entry === this.entry) return;
    links.calls.delete(key);
    call.answer(message, atMs);
  }

  /** Reads the negotiated version from the result of `initialize`. */
  #readVersion({ protocolVersion }: JsonObject): void {
    const { method, session } = this.entry.facts;
    if (method !== "initialize" || typeof protocolVersion !== "string") return;
    this.entry.facts = { ...this.entry.facts, ...toVersion(protocolVersion) };
    if (session !== undefined) this.#assembly.links.sessions.set(session, sessionFacts(this.entry.facts));
  }

  #readServer(result: JsonObject): void {
    const info = result.serverInfo ?? readMeta(result)[META.serverInfo];
    if (isObject(info)) this.#assembly.introduced(this.#toClient(info));
  }

  #openSession(id: string): void {
    const session = this.#assembly.hash(id).slice(0, 8);
    this.entry.facts = { ...this.entry.facts, session };
    this.#assembly.links.sessions.set(session, sessionFacts(this.entry.facts));
  }

  #showText(text: string): string | undefined {
    const { redactor } = this.#assembly;
    return redactor.contents ? redactor.line(text).slice(0, 300) : undefined;
  }

  #relate(id: string, why: "answer" | "resumes"): LiveEntry | undefined {
    const other = this.#assembly.find(id);
    if (!other) return undefined;
    this.entry.addRelated(id, why);
    other.addRelated(this.entry.id, why);
    this.#assembly.related(other);
    return other;
  }

  /** Stores a message, unless the entry is full. */
  #store(message: unknown, where: MessageOrigin, context?: Waiting): void {
    const { entry } = this;
    const { redactor } = this.#assembly;
    const { from, atMs, event, characters: size } = where;
    const max = isObject(message) && "id" in message ? MESSAGES_MAX * 2 : MESSAGES_MAX;
    if (entry.messages.length >= max || this.#characters > MESSAGES_CHARACTERS_MAX) {
      entry.omitted.messages += 1;
      return;
    }
    const isTooLarge = redactor.contents && size > MESSAGE_CHARACTERS_MAX;
    const redacted = isTooLarge ? shapeOf(message) : redactor.message(message, context);
    const isCopied = redactor.contents && !isTooLarge;
    const characters = 80 + (isCopied ? Math.round(size) : (JSON.stringify(redacted) ?? "").length);
    this.#characters += characters;
    this.#assembly.grow(entry, characters);
    entry.messages.push({ atMs, from, ...(event === undefined ? {} : { eventId: event }), message: redacted });
  }
}

/** The sender, time and size of a message. */
interface MessageOrigin {
  readonly from: "client" | "server";
  readonly atMs: number;
  readonly characters: number;
  readonly event?: string | undefined;
}

/** Returns the facts that all requests of a session share. */
function sessionFacts({ client, version, era }: EntryFacts): EntryFacts {
  return { ...(client ? { client } : {}), ...(version === undefined ? {} : { version }), ...(era ? { era } : {}) };
}
