import { type ParsedMessage, parseMessage } from "../../core/protocol/jsonrpc.ts";

/** The deepest nesting of a message that is accepted from a server. The code that processes messages is recursive. */
export const DEPTH_MAX = 1_000;

/** Classifies a JSON value that a server has sent. Like `parseMessage`, and a value that is nested too deeply is invalid. */
export function readReceived(value: unknown): ParsedMessage {
  const parsed = parseMessage(value);
  if (parsed.kind === "invalid" || isWithinDepth(value)) return parsed;
  const problem = `it is nested deeper than ${DEPTH_MAX} levels`;
  // The id of a request of the server is not that of a request of this client.
  const own = parsed.kind === "response" ? parsed.message.id : undefined;
  return { kind: "invalid", problem, isNotification: false, ...(own === undefined ? {} : { id: own }) };
}

/** Whether a value has at most so many levels of arrays and objects. */
function isWithinDepth(value: unknown, levels = DEPTH_MAX): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((each) => isWithinDepth(each, levels - 1));
}
