import { type ParsedMessage, parseMessage } from "../../core/protocol/jsonrpc.ts";

/** The maximum nesting of a message of the server. It is limited because the code that processes messages is recursive. */
export const DEPTH_MAX = 1_000;

/** Classifies a JSON value that a server has sent, like `parseMessage`. A value that is nested too deeply is invalid. */
export function readReceived(value: unknown): ParsedMessage {
  const parsed = parseMessage(value);
  if (parsed.kind === "invalid" || isWithinDepth(value)) return parsed;
  const problem = `it is nested deeper than ${DEPTH_MAX} levels`;
  // Only a response has the id of a request of this client. The server chooses the ids of its own requests.
  const own = parsed.kind === "response" ? parsed.message.id : undefined;
  return { kind: "invalid", problem, isNotification: false, ...(own === undefined ? {} : { id: own }) };
}

/** Whether the arrays and objects of a value are nested at most this many levels. */
function isWithinDepth(value: unknown, levels = DEPTH_MAX): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((each) => isWithinDepth(each, levels - 1));
}
