/**
 * The protocol version without a handshake.
 *
 * @module
 */
import { standardHeaders } from "../../../client/transports/request-headers.ts";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import * as META from "../../../core/protocol/meta.ts";
import { newestOf } from "../../../core/protocol/spoken-versions.ts";
import { type Line, post } from "./conversation.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { describeExchange, resultOf } from "./exchange.ts";
import type { Declared, RequestPage } from "./lists.ts";

/** The newest version without a handshake. */
const VERSION = newestOf("modern");

/** Returns a function that sends requests of this version. */
export function modernRequests(line: Line): RequestPage {
  let id = 100;
  return async (method, params = {}) => {
    id += 1;
    const _meta = {
      [META.protocolVersion]: VERSION,
      [META.clientInfo]: { name: "mcp-edge-doctor", version: "1.0.0" },
      [META.clientCapabilities]: {},
    };
    const headers = { "MCP-Protocol-Version": VERSION, ...standardHeaders(method, params) };
    const answer = await post(line, { id, method, params: { ...params, _meta } }, headers);
    return { answer, result: resultOf(answer, id) };
  };
}

/** Asks the server what it supports; undefined if it does not support this version. */
export async function discover(line: Line): Promise<Declared | undefined> {
  const { result } = await modernRequests(line)("server/discover");
  const versions = result?.supportedVersions;
  if (!result || !Array.isArray(versions) || !versions.includes(VERSION)) return undefined;
  const meta = isObject(result._meta) ? result._meta : {};
  const info: unknown = meta[META.serverInfo] ?? result.serverInfo;
  return {
    capabilities: isObject(result.capabilities) ? result.capabilities : ({} as JsonObject),
    serverName: isObject(info) && typeof info.name === "string" ? info.name : undefined,
    instructions: result.instructions,
    admitsAnyOutput: true,
  };
}

/** Checks that a server which announces this version also serves it. */
export async function checkModern(line: Line, diagnosis: Diagnosis): Promise<void> {
  const declared = await discover(line);
  if (!declared || declared.capabilities.tools === undefined) return;
  const { answer, result } = await modernRequests(line)("tools/list");
  if (Array.isArray(result?.tools)) return;
  diagnosis.add({
    id: "modern-broken",
    step: "modern",
    severity: "breaks",
    fault: "server",
    what: `The server announces ${VERSION} in server/discover, but tools/list fails in it: ${describeExchange(answer)}.`,
    fix: `Serve tools/list with the headers and the _meta of ${VERSION}, or do not announce the version.`,
  });
}
