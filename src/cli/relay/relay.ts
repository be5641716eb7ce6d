/**
 * Connects a host with a server: serves the host in the host's protocol version, and is a client of the server in the server's
 * version. Used by `mcp-edge bridge` (host over stdio, server over HTTP) and `mcp-edge expose` (the reverse).
 *
 * The connection to the server is opened at the host's first request, because the host's name and capabilities are passed on. For
 * a legacy host, the same version is used with the server if the server supports it; then no message needs to be converted.
 *
 * @module
 */
import type { Client, ClientOptions, Progress, RequestOptions } from "../../client/index.ts";
import { ClientError } from "../../client/index.ts";
import { pick } from "../../core/protocol/content.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { McpError } from "../../core/protocol/errors.ts";
import {
  isObject,
  type JSONRPCErrorObject,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JsonObject,
} from "../../core/protocol/jsonrpc.ts";
import { hasEnvelope, readEnvelope, readMeta, unsupportedVersion } from "../../core/protocol/lifecycle.ts";
import * as META from "../../core/protocol/meta.ts";
import { findRequest, type RequestName, SERVER_REQUESTS } from "../../core/protocol/methods.ts";
import { findVersion, serveVersions, type VersionRules } from "../../core/protocol/versions.ts";
import { toJson } from "../terminal/terminal.ts";
import { capabilitiesFor, errorFor, questionFor, resultFor } from "./convert.ts";
import { HostQuestions } from "./host-questions.ts";
import { Listens } from "./listens.ts";
import { type JSONRPCResponse, notification, type Sink } from "./messages.ts";
import { ReplaceableConnection } from "./replaceable-connection.ts";
import { Rounds } from "./rounds.ts";

/** What the host has declared about itself. */
export interface HostFacts {
  /** The rules of the host's protocol version. */
  readonly rules: VersionRules;
  readonly capabilities: JsonObject;
  readonly info: JsonObject;
}

/** Opens a connection to the server, with the given options added to those of the command. */
export type ConnectToServer = (options: Partial<ClientOptions>) => Promise<Client>;

/** A request of the host that is being served. */
interface Serving {
  readonly request: JSONRPCRequest;
  readonly sink: Sink;
  readonly signal: AbortSignal;
}

/** The versions of each era, newest first. */
const { legacy: LEGACY, modern: MODERN } = serveVersions();
const NEWEST_LEGACY = LEGACY[0] as VersionRules;
/** The host sets the time limits of its requests. `totalTimeoutMs` keeps its default, in case the host never cancels a request. */
const NO_LIMITS = { timeoutMs: 0 } as const;

/** Sends a request of the host to the server. */
type Forward = (client: Client, params: JsonObject, options: RequestOptions) => Promise<JsonObject>;

export class Relay {
  readonly #connect: ConnectToServer;
  readonly #general: Sink;
  readonly #log: (text: string) => void;
  readonly #questions: HostQuestions;
  readonly #rounds: Rounds;
  readonly #listens = new Listens();
  /** The resources that a legacy host has subscribed to. A new connection subscribes to them again. */
  readonly #uris = new Set<string>();
  #host: HostFacts | undefined;
  readonly #server = new ReplaceableConnection(() => this.#open());
  #level: unknown;
  /** Sends the requests for which the client has a method that does more than `client.request()`. */
  readonly #forwards: Readonly<Partial<Record<RequestName, Forward>>> = {
    "tools/list": async (client, { cursor }, options) =>
      client.listTools({ ...options, ...(typeof cursor === "string" ? { cursor } : {}) }),
    "tools/call": async (client, params, options) => {
      const { name, arguments: args, ...others } = params;
      // callTool() uses the hints and headers of the tool. A request with other members, such as `task`, is sent unchanged.
      if (Object.keys(others).length > 0 || typeof name !== "string")
        return client.request("tools/call", params, options);
      return client.callTool(name, isObject(args) ? args : {}, options);
    },
    "logging/setLevel": async (client, { level }) => {
      await this.#setLevel(client, level);
      return {};
    },
    "resources/subscribe": async (client, { uri }, options) => {
      await client.subscribe(String(uri), options);
      this.#uris.add(String(uri));
      return {};
    },
    "resources/unsubscribe": async (client, { uri }, options) => {
      this.#uris.delete(String(uri));
      await client.unsubscribe(String(uri), options);
      return {};
    },
  };

  /** @param general Receives messages that do not belong to a request. @param log Receives a line about each recovery. */
  constructor(connect: ConnectToServer, general: Sink, log: (text: string) => void) {
    this.#connect = connect;
    this.#general = general;
    this.#log = log;
    this.#questions = new HostQuestions(general);
    this.#rounds = new Rounds();
  }

  /** Handles a request of the host. Resolves with the response, or with undefined if the host has cancelled the request. */
  async handleRequest(request: JSONRPCRequest, sink: Sink, signal: AbortSignal): Promise<JSONRPCResponse | undefined> {
    const { id, method, params } = request;
    const era = hasEnvelope(params) ? "modern" : "legacy";
    const serving = { request, sink, signal };
    try {
      const result = era === "modern" ? await this.#serveModern(serving) : await this.#serveLegacy(serving);
      return { jsonrpc: "2.0", id, result };
    } catch (error) {
      if (signal.aborted) return undefined;
      return { jsonrpc: "2.0", id, error: errorFor(describe(error), method, era) };
    }
  }

  /** Handles a notification of the host. */
  async notification({ method, params = {} }: JSONRPCNotification): Promise<void> {
    // The client sends these itself, as its version requires.
    if (method === "notifications/initialized" || method === "notifications/cancelled") return;
    try {
      await (await this.#server.opened)?.notify(method, withoutEnvelope(params));
    } catch (error) {
      this.#log(`${method} was not passed on: ${describe(error).message}`);
    }
  }

  /** Handles the host's response to a question of the server. */
  answer(response: JSONRPCResponse): void {
    this.#questions.answer(response);
  }

  async close(): Promise<void> {
    const reason = new McpError(ErrorCode.InternalError, "The connection is closed.");
    this.#questions.close(reason);
    this.#rounds.close(reason);
    await this.#server.close();
  }

  async #serveLegacy(serving: Serving): Promise<JsonObject> {
    const { method, params = {} } = serving.request;
    if (method === "ping") return {};
    if (method === "initialize") return this.#initialize(params);
    // Requests that a user pipes in by hand arrive without a handshake.
    this.#host ??= { rules: NEWEST_LEGACY, capabilities: {}, info: {} };
    const { rules } = this.#host;
    const client = await this.#server.client();
    const run = (used: Client) =>
      this.#questions.during(serving, async () => {
        return resultFor(await this.#forward(used, serving), method, rules, { isSame: hasVersion(used, rules) });
      });
    try {
      return await this.#server.use(client, run);
    } catch (error) {
      const next = await this.#server.replace(client, error);
      if (!next) throw error;
      return this.#server.use(next, run);
    }
  }

  async #initialize(params: JsonObject): Promise<JsonObject> {
    const { protocolVersion, capabilities, clientInfo } = params;
    const rules = LEGACY.find(({ version }) => version === protocolVersion) ?? NEWEST_LEGACY;
    this.#host = {
      rules,
      capabilities: isObject(capabilities) ? capabilities : {},
      info: isObject(clientInfo) ? clientInfo : {},
    };
    const client = await this.#server.client();
    const { info = { name: "mcp-edge", version: "0" }, instructions, capabilities: offered } = client.server;
    return {
      protocolVersion: rules.version,
      capabilities: capabilitiesFor(offered, rules, hasVersion(client, rules)),
      serverInfo: pick(info, rules.implementationFields),
      ...(instructions === undefined ? {} : { instructions }),
    };
  }

  async #serveModern(serving: Serving): Promise<JsonObject> {
    const { method, params } = serving.request;
    const { version, capabilities, meta } = readEnvelope(params);
    const rules = findVersion(version);
    if (rules?.era !== "modern") throw unsupportedVersion(version, serveVersions());
    const info = meta[META.clientInfo];
    this.#host ??= { rules, capabilities, info: isObject(info) ? info : {} };
    const client = await this.#server.client();
    const form = { isSame: hasVersion(client, rules), info: client.server.info };
    if (method === "server/discover") return resultFor(discovered(client, rules), method, rules, form);
    if (method === "subscriptions/listen") return this.#listens.serve(serving, client);
    const level = meta[META.logLevel];
    if (level !== undefined && level !== this.#level) await this.#setLevel(client, level);
    const result = await this.#rounds.runRound(serving, (round) =>
      this.#questions.during(round, () => this.#forward(client, round)),
    );
    return resultFor(result, method, rules, form);
  }

  /** Forwards a request to the server, with the most specific method of the client. */
  async #forward(client: Client, { request, sink, signal }: Serving): Promise<JsonObject> {
    const { method, params = {} } = request;
    const { progressToken } = readMeta(params);
    const meta = readMeta(withoutEnvelope(params));
    const options: RequestOptions = {
      ...NO_LIMITS,
      signal,
      ...(Object.keys(meta).length === 0 ? {} : { meta }),
      ...(progressToken === undefined
        ? {}
        : { onProgress: (progress) => this.#progress(sink, progressToken, progress) }),
    };
    const { _meta, ...rest } = params;
    const forward = findRequest(method) && this.#forwards[method as RequestName];
    if (forward) return forward(client, rest, options);
    return client.request(method, Object.keys(rest).length > 0 ? rest : undefined, options);
  }

  #progress(sink: Sink, progressToken: unknown, { message, ...progress }: Progress): void {
    const text = message !== undefined && this.#host?.rules.progressMessage ? { message } : {};
    sink.send(notification("notifications/progress", { progressToken, ...progress, ...text }));
  }

  async #setLevel(client: Client, level: unknown): Promise<void> {
    // The server validates the level, so its type is not checked here.
    await client.setLevel(level as Parameters<Client["setLevel"]>[0]);
    this.#level = level;
  }

  async #open(): Promise<Client> {
    const host = this.#host as HostFacts;
    const options = this.#optionsFor(host);
    if (host.rules.era === "modern") return this.#connect(options);
    try {
      const older = LEGACY.slice(LEGACY.indexOf(host.rules)).map(({ version }) => version);
      return await this.#restored(await this.#connect({ ...options, protocolVersions: older }));
    } catch (error) {
      if (!mayBeModern(error)) throw error;
      return this.#restored(await this.#connect(options));
    }
  }

  async #restored(client: Client): Promise<Client> {
    if (this.#level !== undefined) await this.#setLevel(client, this.#level);
    for (const uri of this.#uris) await client.subscribe(uri);
    return client;
  }

  #optionsFor({ capabilities, info }: HostFacts): Partial<ClientOptions> {
    const { name, version, title } = info;
    return {
      ...(typeof name === "string" ? { name } : {}),
      ...(typeof version === "string" ? { version } : {}),
      ...(typeof title === "string" ? { title } : {}),
      ...NO_LIMITS,
      use: [
        () => ({
          capabilities,
          resultTypes: ["task"],
          changes: ["tools", "prompts", "resources"],
          onQuestion: ({ method, params, context }) => this.#question(method, params, context.signal),
          onNotification: (method, params) => this.#notified(method, params),
        }),
      ],
      onEvent: (event) => {
        if (event.type === "closed") this.#server.drop();
        if (event.type !== "connected") this.#log(toJson(event));
      },
    };
  }

  async #question(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (method === "ping") return {};
    const { rules } = this.#host as HostFacts;
    if (rules.era === "modern" && !SERVER_REQUESTS.includes(method)) {
      throw new McpError(
        ErrorCode.MethodNotFound,
        `${method} is not a request that a server may send in ${rules.version}.`,
      );
    }
    const serving = this.#questions.asking();
    const shaped = questionFor(method, params, rules);
    if (rules.era === "legacy") return this.#questions.ask(method, shaped, signal, serving?.sink);
    return this.#rounds.ask(method, shaped, signal, serving?.request);
  }

  #notified(method: string, params: JsonObject): void {
    const { _meta: _, ...rest } = params;
    if (this.#host?.rules.era === "modern" && this.#listens.forward(method, rest)) return;
    const sink = this.#questions.asking()?.sink ?? this.#general;
    sink.send(notification(method, rest));
  }
}

function hasVersion({ server }: Client, { version }: VersionRules): boolean {
  return server.protocolVersion === version;
}

function discovered(client: Client, rules: VersionRules): JsonObject {
  const { capabilities, instructions } = client.server;
  return {
    supportedVersions: MODERN.map(({ version }) => version),
    capabilities: capabilitiesFor(capabilities, rules, hasVersion(client, rules)),
    ...(instructions === undefined ? {} : { instructions }),
  };
}

/** Whether an error can mean that the server supports no legacy version. */
function mayBeModern(error: unknown): boolean {
  if (McpError.is(error)) return true;
  if (!ClientError.is(error)) return false;
  return error.code === "version-unsupported" || error.code === "answer-invalid" || error.code === "http-status";
}

function describe(error: unknown): JSONRPCErrorObject {
  if (McpError.is(error)) {
    const { code, message, data } = error;
    return { code, message, ...(data === undefined ? {} : { data }) };
  }
  if (!ClientError.is(error)) return { code: ErrorCode.InternalError, message: String(error) };
  const isMissing = error.code === "capability-missing" || error.code === "method-missing";
  const { message, mayHaveRun } = error;
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  if (isMissing) return { code: ErrorCode.MethodNotFound, message };
  return { code: ErrorCode.InternalError, message: message + cause, data: { reason: error.code, mayHaveRun } };
}

/** The members of `_meta` that apply to a single connection and are not passed on. */
const HOP = [META.protocolVersion, META.clientInfo, META.clientCapabilities, META.logLevel, "progressToken"];

function withoutEnvelope(params: JsonObject): JsonObject {
  const { _meta, ...rest } = params;
  const kept = Object.entries(readMeta(params)).filter(([name]) => !HOP.includes(name));
  return kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) };
}
