/**
 * Spans and measurements of a client, as an extension.
 *
 * @module
 */
import type { ClientExtension, ExtensionContext } from "../client/api/extensions.ts";
import type { IncomingRequest, Next, OutgoingRequest } from "../client/api/wrapped-requests.ts";
import type { ServerFacts } from "../client/requests/results.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import { CancelledError, KitError, McpError } from "../core/protocol/errors.ts";
import type { JsonObject, RequestId } from "../core/protocol/jsonrpc.ts";
import { readMeta } from "../core/protocol/lifecycle.ts";
import { isStandard } from "../core/protocol/methods.ts";
import { describeSubject } from "../core/protocol/request-description.ts";
import {
  CANCELLED,
  describeMeasurement,
  describeOperation,
  describeOutcome,
  type NetworkTransport,
  type Operation,
  OTHER,
  type Outcome,
  ofCode,
  toAttributes,
  toContents,
  toFailure,
  toOutcome,
  toSpanName,
  withFewValues,
} from "./conventions.ts";
import { CLIENT_OPERATION, CLIENT_SESSION } from "./metrics.ts";
import { type Recording, type RecordingOptions, toRecording } from "./recording.ts";
import type { Attributes, Failure, OpenSpan, SpanStart } from "./spans.ts";
import { readTraceContext } from "./trace-context.ts";

/** Options of {@link clientTelemetry}. */
export interface ClientTelemetryOptions extends RecordingOptions {
  /** The URL of the server, for the attributes `server.address` and `server.port`. @default neither is set */
  readonly server?: string | URL;
}

const OPTIONS: OptionTable<ClientTelemetryOptions> = {
  tracing: null,
  openTelemetry: null,
  metrics: null,
  contents: null,
  stacks: null,
  server: null,
};

/**
 * Records a span and a duration for each request of a client, by the semantic conventions of OpenTelemetry for MCP, and
 * passes the span on in the `_meta` of the request, so that the span of the server belongs to the same trace. Questions of
 * the server get spans too.
 *
 * Put it last in `use` to record only requests that are sent. An extension that comes later, such as `cache()`, works within
 * its spans.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @see MCP 2026-07-28, basic, "OpenTelemetry trace context"
 * @example
 * ```ts
 * import * as openTelemetry from "@opentelemetry/api";
 *
 * const use = [clientTelemetry({ openTelemetry })];
 * const client = await connect("https://example.com/mcp", { name: "app", version: "1.0.0", use });
 * ```
 */
export function clientTelemetry(options: ClientTelemetryOptions): ClientExtension {
  checkOptions("clientTelemetry(): ", options, OPTIONS);
  const recording = toRecording("clientTelemetry()", options);
  const address = readAddress(options.server);
  return (context) => {
    const spans = new ClientSpans(recording, context, address);
    return {
      onRequest: (request, next) => spans.send(request, next),
      onQuestion: (question, next) => spans.answer(question, next),
    };
  };
}

/** @throws {KitError} `options-invalid`. */
function readAddress(server: string | URL | undefined): Attributes {
  if (server === undefined) return {};
  if (!URL.canParse(String(server))) {
    throw new KitError("options-invalid", "clientTelemetry(): server is not a URL. Write the URL of the server.");
  }
  const { hostname, port, protocol } = new URL(server);
  return toAttributes({ "server.address": hostname, "server.port": Number(port || (protocol === "http:" ? 80 : 443)) });
}

class ClientSpans {
  readonly #recording: Recording;
  readonly #context: ExtensionContext;
  readonly #address: Attributes;

  constructor(recording: Recording, context: ExtensionContext, address: Attributes) {
    this.#recording = recording;
    this.#context = context;
    this.#address = address;
    const startedAtMs = performance.now();
    context.signal.addEventListener("abort", () => this.#ended(performance.now() - startedAtMs), { once: true });
  }

  /** Sends a request within a span. */
  send(request: OutgoingRequest, next: Next<OutgoingRequest>): Promise<JsonObject> {
    const { spans } = this.#recording;
    const operation = toOperation(request);
    const start = this.#start(operation, "client", request.params);
    return spans.run(start, async (span) => {
      const startedAtMs = performance.now();
      const { outcome, settle } = await this.#run(span, operation, () => next(withContext(request, span)));
      const protocolVersion = this.#facts?.protocolVersion;
      const attributes = {
        ...describeMeasurement(...withFewValues(operation, outcome), protocolVersion, this.#transport),
        ...this.#address,
      };
      this.#recording.measure(CLIENT_OPERATION, (performance.now() - startedAtMs) / 1000, attributes);
      return settle();
    });
  }

  /** Answers a question of the server within a span. The server's span is only linked, so it does not choose the trace. */
  answer(question: IncomingRequest, next: Next<IncomingRequest>): Promise<JsonObject> {
    const operation = { method: isStandard(question.method) ? question.method : OTHER };
    const parent = readTraceContext(readMeta(question.params));
    const start = { ...this.#start(operation, "server"), parent, isLinked: true };
    return this.#recording.spans.run(start, async (span) => {
      const { settle } = await this.#run(span, operation, () => next(question));
      return settle();
    });
  }

  /** The facts about the server. Undefined until the connection is open; a server may ask earlier. */
  get #facts(): ServerFacts | undefined {
    return this.#context.client.server as ServerFacts | undefined;
  }

  get #transport(): NetworkTransport {
    return this.#facts?.transport === "pipe" ? "pipe" : "tcp";
  }

  #start(operation: Operation, kind: SpanStart["kind"], params?: JsonObject): SpanStart {
    const protocolVersion = this.#facts?.protocolVersion;
    const isShown = this.#recording.contents && operation.tool !== undefined;
    const input = isShown ? toContents(params?.arguments) : undefined;
    return {
      name: toSpanName(operation),
      kind,
      attributes: {
        ...describeOperation(operation, protocolVersion, this.#transport),
        ...this.#address,
        ...(input === undefined ? {} : { "gen_ai.tool.call.arguments": input }),
      },
    };
  }

  /** Runs an operation, and ends its span. Returns its outcome, and a function that returns its result or throws its error. */
  async #run(span: OpenSpan, { tool }: Operation, work: () => Promise<JsonObject>) {
    try {
      const result = await work();
      const outcome = toOutcome(result);
      const output = this.#recording.contents && tool !== undefined ? toContents(result) : undefined;
      if (output !== undefined) span.set({ "gen_ai.tool.call.result": output });
      end(span, outcome);
      return { outcome, settle: () => result };
    } catch (error) {
      const outcome = outcomeOf(error);
      end(span, outcome, toFailure(error, this.#recording.stacks));
      return {
        outcome,
        settle: (): JsonObject => {
          throw error;
        },
      };
    }
  }

  /** Measures the connection, unless it was never opened. */
  #ended(durationMs: number): void {
    const server = this.#facts;
    if (!server) return;
    const about = { "mcp.protocol.version": server.protocolVersion, "network.transport": this.#transport };
    this.#recording.measure(CLIENT_SESSION, durationMs / 1000, { ...toAttributes(about), ...this.#address });
  }
}

function toOperation({ method, params }: OutgoingRequest): Operation {
  const { tool, prompt, uri } = describeSubject({ jsonrpc: "2.0", id: 0, method, ...(params ? { params } : {}) });
  return { method, tool, prompt, uri };
}

/** Returns the request with the span in its `_meta`, unless the caller has already set a trace context. */
function withContext(request: OutgoingRequest, span: OpenSpan): OutgoingRequest {
  const { options, params } = request;
  const fields = { ...readMeta(params), ...options.meta }.traceparent === undefined ? span.fields() : undefined;
  const onRequestId = (id: RequestId) => {
    span.set({ "jsonrpc.request.id": String(id) });
    options.onRequestId?.(id);
  };
  return { ...request, options: { ...options, meta: { ...options.meta, ...fields }, onRequestId } };
}

/** Returns the outcome of a request that has failed. The class of an error of the client is its code. */
function outcomeOf(error: unknown): Outcome {
  if (McpError.is(error)) return ofCode(error.code);
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  if (typeof code === "string") return { errorType: code };
  return CancelledError.is(error) || name === "AbortError" ? CANCELLED : { errorType: OTHER };
}

function end(span: OpenSpan, outcome: Outcome, failure: Failure = {}): void {
  if (outcome.errorType !== undefined) {
    span.set(describeOutcome(outcome));
    span.fail(failure);
  }
  span.end();
}
