/**
 * The steps for a server with a URL.
 *
 * @module
 */
import { usageError } from "../../exit.ts";
import type { ListedTool } from "../../host-profiles/find-limits.ts";
import { checkAddress, explainFailure } from "./address.ts";
import { addNotCalled, checkCall } from "./call.ts";
import { type Conversation, initialize, type Line, post, toConversation } from "./conversation.ts";
import type { Diagnosis, Step } from "./diagnosis.ts";
import { errorOf, explainRefusal, reasonOf } from "./endpoint.ts";
import { describeExchange, type Exchange, isExchange, RateLimitedError } from "./exchange.ts";
import { checkLists, type RequestPage } from "./lists.ts";
import { checkModern, discover, modernRequests } from "./modern.ts";
import { checkOrigin } from "./origin.ts";
import { checkHandshake, checkSession } from "./session.ts";
import { checkSignIn } from "./sign-in.ts";
import { Steps } from "./steps.ts";
import { checkStream } from "./stream.ts";
import { addLate, checkAccepted, explainForbidden, explainRefused } from "./token.ts";

/** What to check besides the steps that are always checked. */
export interface HttpChecks {
  readonly token: string | undefined;
  readonly origin: string | undefined;
  readonly call: string | undefined;
  /** Called at the beginning of a step. */
  readonly onStep: (step: Step) => void;
}

/** Runs the steps in their order, up to the first one without which no other can follow. */
export async function checkHttp(line: Line, checks: HttpChecks, diagnosis: Diagnosis): Promise<void> {
  const steps = new Steps(diagnosis, line.signal, checks.onStep);
  try {
    await steps.run("address", () => open(line, checks, diagnosis, steps));
  } catch (error) {
    if (!(error instanceof RateLimitedError)) throw error;
    addRateLimited(error.origin, diagnosis);
  }
  if (checks.call !== undefined && !diagnosis.isCallChecked) addNotCalled(checks.call, diagnosis);
}

/** Checks the address, and then the conversation, the sign-in or the refusal. */
async function open(line: Line, checks: HttpChecks, diagnosis: Diagnosis, steps: Steps): Promise<void> {
  const url = new URL(line.url);
  checkAddress(url, diagnosis);
  steps.begin("endpoint");
  await recognize(line, diagnosis);
  const first = await initialize(line);
  if (!isExchange(first)) {
    if (first.message === "bad port") throw usageError(`No client connects to port ${url.port}.`);
    diagnosis.add(explainFailure(url, first));
    return;
  }
  const conversation = toConversation(line, first);
  try {
    diagnosis.isOpen = conversation !== undefined;
    const { origin } = checks;
    if (origin !== undefined) await steps.run("origin", () => checkOrigin(line, origin, first, diagnosis));
    if (conversation) await converse(conversation, checks, diagnosis, steps);
    else await explainFirst(line, first, checks, diagnosis, steps);
  } finally {
    await conversation?.end();
  }
}

/** Explains a first response that opens no conversation. */
async function explainFirst(
  line: Line,
  first: Exchange,
  checks: HttpChecks,
  diagnosis: Diagnosis,
  steps: Steps,
): Promise<void> {
  if (isRefusal(first)) return explainSignIn(line, first, checks.token, diagnosis, steps);
  const declared = await discover(line);
  if (!declared) return explainRefusal(line, first, diagnosis);
  steps.begin("modern");
  diagnosis.isOpen = true;
  diagnosis.add({
    id: "modern-only",
    step: "handshake",
    severity: "note",
    fault: "host",
    what: "The server has no handshake, so hosts need a protocol version without sessions.",
    fix: "Serve the versions with a handshake as well, as long as your hosts need them.",
  });
  const request = modernRequests(line);
  const { tools, refused } = await checkLists(declared, request, diagnosis);
  if (refused) await explainSignIn(line, refused, checks.token, diagnosis, steps);
  if (checks.call !== undefined && tools) await callTool(checks.call, tools, request, diagnosis);
}

/** @param origin The server of metadata. Undefined for the endpoint. */
function addRateLimited(origin: string | undefined, diagnosis: Diagnosis): void {
  const { reached, isOpen, needsSignIn } = diagnosis;
  diagnosis.add({
    id: "rate-limited",
    step: origin === undefined ? "endpoint" : reached,
    severity: isOpen || needsSignIn ? "degrades" : "breaks",
    fault: "configuration",
    what: `${origin ?? "The server"} accepts no more requests for now (HTTP 429), so the doctor stopped at the step ${reached}.`,
    fix: "Raise the limit, or wait for the time in Retry-After and run the doctor again.",
  });
}

/** Sends a body that no server accepts. A server that uses mcp-edge gives a reason for which it is recognized. */
async function recognize(line: Line, diagnosis: Diagnosis): Promise<void> {
  const answer = await post(line, { method: 0 });
  if (!isExchange(answer)) return;
  diagnosis.isOurs = reasonOf(answer) !== undefined;
}

/** Whether a response asks for a token, or refuses the token that was sent. */
function isRefusal(answer: Exchange): boolean {
  return answer.status === 401 || (answer.status === 403 && answer.headers.has("www-authenticate"));
}

async function explainSignIn(
  line: Line,
  refused: Exchange,
  token: string | undefined,
  diagnosis: Diagnosis,
  steps: Steps,
): Promise<void> {
  if (token === undefined) diagnosis.needsSignIn = true;
  const signIn = await steps.run("sign-in", () => checkSignIn(line, refused, diagnosis));
  if (token === undefined || !signIn) return;
  await steps.run("token", () => {
    if (refused.status === 401) explainRefused(token, refused, signIn, diagnosis);
    else explainForbidden(token, refused, signIn, diagnosis);
  });
}

/** The steps after a handshake. */
async function converse(
  conversation: Conversation,
  { token, call }: HttpChecks,
  diagnosis: Diagnosis,
  steps: Steps,
): Promise<void> {
  const { line } = conversation;
  if (token !== undefined) checkAccepted(token, diagnosis);
  if ((await steps.run("handshake", () => checkHandshake(conversation, diagnosis))) === false) return;
  await steps.run("session", () => checkSession(conversation, diagnosis));
  const request: RequestPage = (method, params) => conversation.request(method, params);
  const lists = await steps.run("lists", () => checkLists(conversation, request, diagnosis));
  const { tools, refused } = lists ?? {};
  if (refused) await explainLate(line, refused, token, diagnosis, steps);
  await steps.run("stream", () => checkStream(conversation, diagnosis));
  await steps.run("modern", () => checkModern(line, diagnosis));
  steps.begin("call");
  if (call !== undefined && tools) await callTool(call, tools, request, diagnosis);
}

/**
 * Reports a list that was refused after the handshake had succeeded. Without a token, the server only asks for a sign-in. With a
 * token, a host would show a connected server that has no tools.
 */
async function explainLate(
  line: Line,
  refused: Exchange,
  token: string | undefined,
  diagnosis: Diagnosis,
  steps: Steps,
): Promise<void> {
  if (token !== undefined) addLate("tools/list", refused, diagnosis);
  await explainSignIn(line, refused, token, diagnosis, steps);
}

async function callTool(
  name: string,
  tools: readonly ListedTool[],
  request: RequestPage,
  diagnosis: Diagnosis,
): Promise<void> {
  const isListed = tools.some((each) => each.name === name);
  const { answer, result } = isListed ? await request("tools/call", { name, arguments: {} }) : {};
  if (!answer || result) return checkCall(name, tools, { result }, diagnosis);
  const code = isExchange(answer) ? errorOf(answer)?.code : undefined;
  checkCall(name, tools, { failure: describeExchange(answer), code }, diagnosis);
}
