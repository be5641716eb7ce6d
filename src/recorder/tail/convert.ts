/**
 * Converts the events of workerd's streaming tail. Headers are omitted because they contain tokens and cookies, apart from the
 * header that the recorder adds and the headers with the method, target and version of a modern request.
 *
 * @module
 * @see https://developers.cloudflare.com/workers/runtime-apis/handlers/tail
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import {
  type AttributeValue,
  EXCHANGE_HEADER,
  type OnsetEvent,
  type TailEvent,
  type TailEventBody,
} from "./tail-event.ts";

/** The maximum length of a string in characters, and the maximum number of parts of a log line. */
const [TEXT_MAX, PARTS_MAX] = [8_192, 50];

/** Converts an event. Returns undefined for events that the recorder does not use. */
export function convertEvent(raw: unknown): TailEvent | undefined {
  if (!isObject(raw) || !isObject(raw.event) || !isObject(raw.spanContext)) return undefined;
  const event = convertBody(raw.event);
  if (!event) return undefined;
  const { traceId, spanId } = raw.spanContext;
  return {
    invocation: text(raw.invocationId),
    trace: text(traceId),
    ...(typeof spanId === "string" ? { span: spanId } : {}),
    sequence: Number(raw.sequence),
    atMs: toMs(raw.timestamp),
    event,
  };
}

function convertBody(event: JsonObject): TailEventBody | undefined {
  switch (event.type) {
    case "onset":
      return convertOnset(event);
    case "spanOpen":
      return { type: "spanOpen", name: text(event.name), spanId: text(event.spanId) };
    case "spanClose":
      return { type: "spanClose" };
    case "attributes":
      return { type: "attributes", values: convertAttributes(event.info) };
    case "return": {
      const status = isObject(event.info) ? event.info.statusCode : undefined;
      return { type: "return", ...(typeof status === "number" ? { status } : {}) };
    }
    case "log":
      return convertLog(event);
    case "exception":
      return { type: "exception", ...convertError(event) };
    case "outcome":
      return { type: "outcome", outcome: text(event.outcome) };
    default:
      return undefined;
  }
}

function convertOnset(event: JsonObject): OnsetEvent {
  const info = isObject(event.info) ? event.info : {};
  const { entrypoint, durableObjectId } = event;
  return {
    type: "onset",
    spanId: text(event.spanId),
    isObject: event.executionModel === "durableObject",
    ...(typeof entrypoint === "string" ? { entrypoint } : {}),
    ...(typeof durableObjectId === "string" ? { objectId: durableObjectId } : {}),
    ...convertCause(info),
  };
}

function convertCause(info: JsonObject): Omit<OnsetEvent, "type" | "spanId" | "isObject"> {
  switch (info.type) {
    case "fetch": {
      const exchange = findHeader(info.headers, EXCHANGE_HEADER);
      const isUpgrade = findHeader(info.headers, "upgrade") !== undefined;
      const { method, url } = info;
      return {
        cause: "fetch",
        method: text(method),
        url: text(url),
        ...(isUpgrade ? { isUpgrade } : {}),
        ...(exchange === undefined ? {} : { exchange }),
        ...convertMessage(info.headers),
      };
    }
    case "jsrpc":
    case "alarm":
    case "scheduled":
      return { cause: info.type };
    case "hibernatableWebSocket": {
      const { type, code } = isObject(info.info) ? info.info : {};
      const socket = type === "close" || type === "error" ? type : "message";
      return { cause: "websocket", socket, ...(typeof code === "number" ? { closeCode: code } : {}) };
    }
    default:
      return { cause: "other" };
  }
}

function convertMessage(headers: unknown): Pick<OnsetEvent, "message"> {
  const method = findHeader(headers, "mcp-method");
  if (method === undefined) return {};
  const name = findHeader(headers, "mcp-name");
  const version = findHeader(headers, "mcp-protocol-version");
  return {
    message: { method, ...(name === undefined ? {} : { name }), ...(version === undefined ? {} : { version }) },
  };
}

function findHeader(headers: unknown, name: string): string | undefined {
  if (!Array.isArray(headers)) return undefined;
  const found = headers.find((header: unknown) => isObject(header) && text(header.name).toLowerCase() === name);
  return isObject(found) ? text(found.value) : undefined;
}

function convertAttributes(info: unknown): Record<string, AttributeValue> {
  const values: Record<string, AttributeValue> = {};
  for (const each of Array.isArray(info) ? info : []) {
    if (!isObject(each) || typeof each.name !== "string") continue;
    const { value } = each;
    if (typeof value === "bigint") values[each.name] = Number(value);
    else if (typeof value === "string") values[each.name] = text(value);
    else if (typeof value === "number" || typeof value === "boolean") values[each.name] = value;
    else if (Array.isArray(value)) values[each.name] = text(value.map(String).join(", "));
  }
  return values;
}

function convertLog(event: JsonObject): TailEventBody {
  const { message, errorInfo, level } = event;
  const parts = Array.isArray(message) ? message.slice(0, PARTS_MAX) : [message];
  const errors = (Array.isArray(errorInfo) ? errorInfo.slice(0, PARTS_MAX) : []).filter(isObject).map(convertError);
  return { type: "log", level: text(level), message: parts.map(bounded), errors };
}

function convertError({ name, message, stack }: JsonObject) {
  return { name: text(name), message: text(message), ...(typeof stack === "string" ? { stack: text(stack) } : {}) };
}

/** Returns a value unchanged, or the beginning of its JSON if it is too large. */
function bounded(value: unknown): unknown {
  if (typeof value === "string") return text(value);
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? Number(value) : value;
  try {
    const json = JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? Number(each) : each)) ?? "";
    return json.length > TEXT_MAX ? text(json) : value;
  } catch {
    return "<nested deeper>";
  }
}

function text(value: unknown): string {
  const whole = typeof value === "string" ? value : value === undefined || value === null ? "" : String(value);
  return whole.length > TEXT_MAX ? whole.slice(0, TEXT_MAX) : whole;
}

function toMs(timestamp: unknown): number {
  if (timestamp instanceof Date) return timestamp.getTime();
  return typeof timestamp === "number" ? timestamp : Date.parse(String(timestamp));
}
