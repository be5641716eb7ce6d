/**
 * Formats an entry as a curl command.
 *
 * @module
 */
import type { Copied } from "../api.ts";
import type { Entry } from "../entry.ts";
import { REDACTED } from "../redact/secrets.ts";
import { findProblem, hasState, requestOf } from "./replayable.ts";

/** Headers that curl sets itself, headers that apply to one connection, and headers that describe a browser. */
const OMITTED: ReadonlySet<string> = new Set([
  "accept-encoding",
  "accept-language",
  "connection",
  "content-length",
  "host",
  "keep-alive",
  "transfer-encoding",
  "user-agent",
]);

/** Returns the command. Secrets are replaced by shell variables. @param origin The origin of the server. */
export function copyAsCurl(entry: Entry, origin: string): Copied {
  const messages = requestOf(entry);
  const problem = findProblem(entry, messages);
  if (problem !== undefined) return { problem };
  if (messages.some(hasState))
    return { problem: "This request continues an earlier request, whose sealed state is not recorded." };
  const { http } = entry;
  if (!http) return { problem: "This is not an HTTP request." };
  const headers = (entry.request?.headers ?? []).filter(
    ([name]) => /^[\w-]+$/.test(name) && !OMITTED.has(name.toLowerCase()) && !/^sec-(ch|gpc|fetch-[md])/i.test(name),
  );
  const isPost = http.method === "POST";
  const body = messages.length === 1 ? messages[0] : messages;
  const lines = [
    `curl${entry.kind === "stream" || isPost ? " --no-buffer" : ""} ${quote(origin + http.path)}`,
    ...(http.method === "GET" || isPost ? [] : [`--request ${quote(http.method)}`]),
    ...headers.map(([name, value]) => `--header ${formatHeader(name, value)}`),
    ...(isPost ? [`--data ${quote(messages.length === 0 ? "" : JSON.stringify(body))}`] : []),
  ];
  return { text: lines.join(" \\\n  ") };
}

function formatHeader(name: string, value: string): string {
  if (!value.includes(REDACTED)) return quote(`${name}: ${value}`);
  const scheme = name.toLowerCase() === "authorization" ? "Bearer " : "";
  return `${quote(`${name}: ${scheme}`)}"$${variableOf(name)}"`;
}

/** Returns the name of the shell variable for the value of a header. */
function variableOf(name: string): string {
  const known: Readonly<Record<string, string>> = {
    authorization: "TOKEN",
    "mcp-session-id": "SESSION",
    cookie: "COOKIE",
  };
  return known[name.toLowerCase()] ?? name.toUpperCase().replaceAll("-", "_");
}

/** Quotes a string for a POSIX shell, in which no character within single quotes is special. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
