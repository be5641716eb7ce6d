/**
 * Requests of a web page: the preflight, and the headers that the page may read.
 *
 * @module
 */
import { oneLine } from "../../terminal/terminal.ts";
import { initialize, type Line, toConversation } from "./conversation.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { describeExchange, type Exchange, exchange, isExchange } from "./exchange.ts";

const BASE = { step: "origin", severity: "breaks", fault: "configuration" } as const;

/** Returns the headers that a page sends: a token and a session id only if the server uses them. */
function sentTo({ headers }: Line, { status, headers: received }: Exchange): string[] {
  const hasToken = status === 401 || Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  return [
    ...(hasToken ? ["authorization"] : []),
    "content-type",
    "mcp-protocol-version",
    ...(received.has("mcp-session-id") ? ["mcp-session-id"] : []),
  ];
}

/** The headers of responses that a page must read. */
const READ = ["mcp-session-id", "www-authenticate"];

/** Checks that a page of an origin can call the server. @param first The response to the first `initialize`. */
export async function checkOrigin(line: Line, origin: string, first: Exchange, diagnosis: Diagnosis): Promise<void> {
  const sent = sentTo(line, first);
  const ours = `Write edge(server, { allowedOrigins: [${JSON.stringify(origin)}] }).`;
  const asked = { "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": sent.join(",") };
  const preflight = await exchange(line, { method: "OPTIONS", headers: { Origin: origin, ...asked } });
  const allowed = isExchange(preflight) ? preflight.headers.get("access-control-allow-origin") : null;
  if (!isExchange(preflight) || preflight.status >= 300 || !admits(allowed, origin)) {
    const why =
      allowed === null
        ? "has no Access-Control-Allow-Origin"
        : admits(allowed, origin)
          ? "has a status that is not 2xx"
          : `allows only ${oneLine(allowed)}`;
    const what = `Browsers do not let pages of ${origin} call the server, because the response to the preflight ${why}: ${describeExchange(preflight)}.`;
    const fix = `Respond to OPTIONS without a token, with Access-Control-Allow-Origin: ${origin}.`;
    diagnosis.add({ ...BASE, id: "cors-preflight", what, fix, ours });
    return;
  }
  const headers = listOf(preflight.headers.get("access-control-allow-headers"));
  // A star does not cover Authorization.
  const lacking = sent.filter(
    (name) => !headers.includes(name) && (name === "authorization" || !headers.includes("*")),
  );
  if (lacking.length > 0) {
    const what = `Browsers do not let the page send these headers: ${lacking.join(", ")}.`;
    const fix = "Name them in Access-Control-Allow-Headers.";
    diagnosis.add({ ...BASE, id: "cors-headers", what, fix, ours });
  }
  const answer = await initialize(line, { Origin: origin });
  await toConversation(line, answer)?.end();
  if (!isExchange(answer)) return;
  if (!admits(answer.headers.get("access-control-allow-origin"), origin)) {
    const what = `The preflight admits ${origin}, and the response to POST does not: ${describeExchange(answer)}.`;
    const fix = `Send Access-Control-Allow-Origin: ${origin} with all responses, including errors.`;
    diagnosis.add({ ...BASE, id: "cors-response", what, fix, ours });
    return;
  }
  const exposed = listOf(answer.headers.get("access-control-expose-headers"));
  const hidden = READ.filter((name) => answer.headers.has(name) && !exposed.includes(name) && !exposed.includes("*"));
  if (hidden.length === 0) return;
  const what = `The page cannot read these headers: ${hidden.join(", ")}.`;
  diagnosis.add({ ...BASE, id: "cors-exposed", what, fix: "Name them in Access-Control-Expose-Headers.", ours });
}

function admits(allowed: string | null, origin: string): boolean {
  return allowed === "*" || allowed === origin;
}

function listOf(header: string | null): string[] {
  return (header ?? "").split(",").map((each) => each.trim().toLowerCase());
}
