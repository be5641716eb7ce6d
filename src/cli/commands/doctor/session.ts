/**
 * The handshake and the session that it opens.
 *
 * @module
 */
import { isObject } from "../../../core/protocol/jsonrpc.ts";
import { findSpoken } from "../../../core/protocol/spoken-versions.ts";
import { HOST_NAMES } from "../../host-profiles/profile.ts";
import { hostsWithout, PROFILES } from "../../host-profiles/profiles.ts";
import { ACCEPT, type Conversation, initialize, type Line, post, toConversation } from "./conversation.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { errorOf, reasonOf } from "./endpoint.ts";
import { describeExchange, type Exchange, isExchange } from "./exchange.ts";

const HANDSHAKE = { step: "handshake", severity: "breaks", fault: "server" } as const;
const SESSION = { step: "session", severity: "breaks", fault: "server" } as const;

/** A session id that no server has issued. */
const UNKNOWN_SESSION = "00000000-0000-4000-8000-000000000000";

/** The number of requests that are sent in one session, to find servers with several instances. */
const REQUESTS = 4;

/** Checks the handshake. Returns false if no request can follow. */
export async function checkHandshake(conversation: Conversation, diagnosis: Diagnosis): Promise<boolean> {
  const { line, version } = conversation;
  if (findSpoken(version)?.era !== "legacy") {
    diagnosis.add({
      ...HANDSHAKE,
      id: "version-unknown",
      what: `The server chooses the protocol version ${JSON.stringify(version)}, which no released client supports.`,
      fix: "Choose the version that the client offers, or the newest released version that the server supports.",
    });
    return false;
  }
  await checkAccepts(line, diagnosis);
  if (!(await checkVersionHeader(conversation, diagnosis))) return false;
  const notified = await conversation.notify("notifications/initialized");
  if (isExchange(notified) && lacksSession(notified)) {
    addSessionRemoved(conversation, notified, diagnosis);
    return false;
  }
  if (!isExchange(notified) || notified.status >= 300) {
    const isSignIn = isExchange(notified) && (notified.status === 401 || notified.status === 403);
    diagnosis.add({
      ...HANDSHAKE,
      id: isSignIn ? "token-late" : "initialized-refused",
      what: `The server refuses notifications/initialized: ${describeExchange(notified)}.`,
      fix: "Accept notifications with 202 and without a body.",
    });
    return !isSignIn;
  }
  return true;
}

/** Whether a response says that the request had no session id. */
function lacksSession(answer: Exchange): boolean {
  const message = String(errorOf(answer)?.message ?? "");
  return reasonOf(answer) === "session-missing" || /\bmcp-session-id\b.{0,40}\b(?:missing|required)\b/i.test(message);
}

function addSessionRemoved({ sessionId }: Conversation, notified: Exchange, diagnosis: Diagnosis): void {
  const fact =
    sessionId === undefined
      ? "The server requires a session id, but the response to initialize does not contain one"
      : "The server does not receive the header Mcp-Session-Id that the client sends";
  diagnosis.add({
    ...HANDSHAKE,
    id: "session-removed",
    fault: "network",
    what: `${fact}: ${describeExchange(notified)}. A proxy may remove the header.`,
    fix: "Let the proxy forward the header Mcp-Session-Id in requests and responses.",
  });
}

/** Sends the `Accept` header of each host whose order of media types differs. */
async function checkAccepts(line: Line, diagnosis: Diagnosis): Promise<void> {
  for (const { name, accept } of PROFILES) {
    if (!accept || accept.value === ACCEPT) continue;
    const answer = await initialize(line, { Accept: accept.value });
    const opened = toConversation(line, answer);
    if (opened) await opened.end();
    if (!isExchange(answer) || answer.status !== 406) continue;
    diagnosis.add({
      ...HANDSHAKE,
      id: "accept-order",
      hosts: [name],
      source: accept.source,
      what: `The server refuses "Accept: ${accept.value}", and accepts the same media types in another order.`,
      fix: "Parse the header Accept as a list, in any order.",
    });
  }
}

/** Checks that a session is kept, that a second one can be opened, and how an unknown one is refused. */
export async function checkSession(conversation: Conversation, diagnosis: Diagnosis): Promise<void> {
  await checkRequests(conversation, diagnosis);
  await checkSecondSession(conversation, diagnosis);
  if (conversation.sessionId !== undefined) await checkUnknownSession(conversation, diagnosis);
}

async function checkRequests(conversation: Conversation, diagnosis: Diagnosis): Promise<void> {
  const answers = [];
  for (let count = 0; count < REQUESTS; count += 1) answers.push((await conversation.request("ping")).answer);
  const refused = answers.filter((each) => !isExchange(each) || each.status >= 400);
  const first = refused.find((each) => isExchange(each) && (each.status === 404 || each.status === 400));
  if (first && conversation.sessionId !== undefined) {
    diagnosis.add({
      ...SESSION,
      id: "session-lost",
      what: `The server issued a session id, and refused ${refused.length} of ${answers.length} requests with it: ${describeExchange(first)}.`,
      fix: "Keep sessions in a store that all instances share, or route the requests of a session to one instance.",
    });
  }
}

/** Returns false if the server refuses the header that every later request has. */
async function checkVersionHeader(conversation: Conversation, diagnosis: Diagnosis): Promise<boolean> {
  const { answer } = await conversation.request("ping");
  if (!isExchange(answer) || answer.status !== 400) return true;
  const bare = await post(conversation.line, { id: 90, method: "ping" }, sessionOf(conversation));
  if (!isExchange(bare) || bare.status >= 400) return true;
  diagnosis.add({
    ...HANDSHAKE,
    id: "version-header-refused",
    what: `The server refuses "MCP-Protocol-Version: ${conversation.version}", the version that it has chosen itself: ${describeExchange(answer)}.`,
    fix: "Accept the negotiated version in this header, which clients send with every request.",
  });
  return false;
}

function sessionOf({ sessionId }: Conversation): Record<string, string> {
  return sessionId === undefined ? {} : { "Mcp-Session-Id": sessionId };
}

async function checkSecondSession({ line }: Conversation, diagnosis: Diagnosis): Promise<void> {
  const answer = await initialize(line);
  const second = toConversation(line, answer);
  if (second) return second.end();
  // A broken connection says nothing about sessions.
  if (!isExchange(answer)) return;
  const perCall = PROFILES.find(({ sessionPerCall }) => sessionPerCall?.value);
  diagnosis.add({
    ...SESSION,
    id: "second-session",
    what: `The server refuses a second session while one is open: ${describeExchange(answer)}.`,
    fix: `Create a transport and a server object for each session. ${perCall?.title ?? "A host"} opens a session for each call.`,
    ...(perCall?.sessionPerCall ? { source: perCall.sessionPerCall.source } : {}),
  });
}

async function checkUnknownSession(conversation: Conversation, diagnosis: Diagnosis): Promise<void> {
  const headers = { ...conversation.headers, "Mcp-Session-Id": UNKNOWN_SESSION };
  const answer = await post(conversation.line, { id: 91, method: "ping" }, headers);
  if (!isExchange(answer) || answer.status === 404) return;
  const { status, messages } = answer;
  const hasError = messages.some((each) => isObject(each.error));
  if (status < 400 && !hasError) return;
  const recovering = PROFILES.filter(({ replacesSessionOn }) => replacesSessionOn?.value.includes(status));
  const isSignIn = status === 401 || status === 403;
  diagnosis.add({
    ...SESSION,
    id: "session-404",
    severity: isSignIn ? "breaks" : "degrades",
    hosts: PROFILES.filter((each) => !recovering.includes(each)).map(({ name }) => name),
    // What hosts do after a 401 for a session has no published source.
    notKnown: isSignIn ? HOST_NAMES : hostsWithout("replacesSessionOn"),
    what: `An unknown session gets ${describeExchange(answer)} instead of 404, so clients ${isSignIn ? "ask users to sign in again" : "do not open a new session after a restart of the server"}.`,
    fix: "Respond with 404 to a session id that the server does not know.",
  });
}
