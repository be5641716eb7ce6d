/**
 * Writes an entry as a command for curl.
 *
 * @module
 */
import type { Copied } from "../api.ts";
import type { Entry } from "../entry.ts";
import { REDACTED } from "../redact/secrets.ts";
import { findProblem, hasState, requestOf } from "./replayable.ts";

/** Headers that curl sets by itself, headers of one connection, and what browsers say about themselves. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "accept-encoding",
  "accept-language",
  "connection",
  "content-length",
  "host",
  "keep-alive",
  "transfer-encoding",
  "user-agent",
]);

/** Returns the command. Secrets are variables of the shell. @param origin The origin of the server. */
export function copyAsCurl(entry: Entry, origin: string): Copied {
  const messages = requestOf(entry);
  const problem = findProblem(entry, messages);
  if (problem !== undefined) return { problem };
  if (messages.some(hasState))
    return { problem: "This request continues an earlier one, whose sealed state is not recorded." };
  const { http } = entry;
  if (!http) return { problem: "This is no request over HTTP." };
  const headers = (entry.request?.headers ?? []).filter(
    ([name]) => /^[\w-]+$/.test(name) && !LEFT_OUT.has(name.toLowerCase()) && !/^sec-(ch|gpc|fetch-[md])/i.test(name),
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

/** Returns the name of the variable for the secret of a header. */
function variableOf(name: string): string {
  const known: Readonly<Record<string, string>> = {
    authorization: "TOKEN",
    "mcp-session-id": "SESSION",
    cookie: "COOKIE",
  };
  return known[name.toLowerCase()] ?? name.toUpperCase().replaceAll("-", "_");
}

/** Quotes a text for a shell of POSIX: nothing within single quotes has a meaning. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
