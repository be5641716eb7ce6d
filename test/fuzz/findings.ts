/** The rules for every response, whatever the input was. */
import { createParser } from "eventsource-parser";
import { checkMessage } from "../oracle/check.ts";
import { VERSIONS } from "../oracle/methods.ts";
import type { Exchange } from "./exchange.ts";
import type { Input } from "./grammar.ts";

/** Matches internal details of the server: exceptions, stacks, SQL, object classes, secrets. */
const INTERNALS =
  /internal-detail-7c1f|TypeError|RangeError|ReferenceError|SyntaxError|SqliteError|SQLITE|Cannot read prop|is not a function|is not iterable|\bat [\w$.]+ \(|node_modules|\.ts:\d+|\.js:\d+|MCP_KEYS|DurableObject|McpSession|MCP_SESSION/;

/** Describes what is wrong with a response; undefined if nothing is. */
export function findProblem(input: Input, exchange: Exchange): string | undefined {
  const { status, body, error } = exchange;
  if (status === 0) return `the connection was lost: ${error}`;
  if (status >= 500) return `status ${status}: ${body.slice(0, 300)}`;
  const internal = INTERNALS.exec(body);
  // A response may repeat what the client itself sent.
  if (internal && !sentBy(input).includes(internal[0])) {
    return `the answer contains ${JSON.stringify(internal[0])}: ${body.slice(0, 300)}`;
  }
  return undefined;
}

function sentBy({ body, headers }: Input): string {
  return `${body?.toString("utf8") ?? ""} ${Object.values(headers).join(" ")}`;
}

/** Describes a message that the schemas of no protocol version allow. */
export function findInvalidMessage({ body, headers }: Exchange): string | undefined {
  const type = headers["content-type"] ?? "";
  const texts = type.startsWith("text/event-stream")
    ? eventsOf(body)
    : type.startsWith("application/json")
      ? [body]
      : [];
  for (const text of texts) {
    const value: unknown = JSON.parse(text);
    for (const message of Array.isArray(value) ? value : [value]) {
      const problems = VERSIONS.map((version) =>
        checkMessage(message, { version, from: "server", unreadableId: true }),
      );
      if (problems.every((each) => each.length > 0)) return `${JSON.stringify(problems.at(-1))}: ${text.slice(0, 300)}`;
    }
  }
  return undefined;
}

function eventsOf(body: string): string[] {
  const texts: string[] = [];
  const parser = createParser({
    onEvent: ({ data, event }) => {
      if (data !== "" && (event === undefined || event === "message")) texts.push(data);
    },
  });
  parser.feed(body);
  return texts;
}
