/**
 * The steps for a server with a URL.
 *
 * @module
 */
import type { ListedTool } from "../../host-profiles/find-limits.ts";
import { checkAddress, explainFailure } from "./address.ts";
import { checkCall } from "./call.ts";
import { type Conversation, initialize, type Line, post, toConversation } from "./conversation.ts";
import type { Diagnosis, Step } from "./diagnosis.ts";
import { explainRefusal, reasonOf } from "./endpoint.ts";
import { describeExchange, type Exchange, isExchange } from "./exchange.ts";
import { checkLists, type RequestPage } from "./lists.ts";
import { checkModern, discover, modernRequests } from "./modern.ts";
import { checkOrigin } from "./origin.ts";
import { checkHandshake, checkSession } from "./session.ts";
import { checkSignIn } from "./sign-in.ts";
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
  const begin = (step: Step) => {
    diagnosis.reached = step;
    checks.onStep(step);
  };
  begin("address");
  const url = new URL(line.url);
  checkAddress(url, diagnosis);
  begin("endpoint");
  await recognize(line, diagnosis);
  const first = await initialize(line);
  if (!isExchange(first)) {
    diagnosis.add(explainFailure(url, first));
    return;
  }
  if (checks.origin !== undefined) await checkOrigin(line, checks.origin, diagnosis);
  const conversation = toConversation(line, first);
  if (conversation) return converse(conversation, checks, diagnosis, begin);
  if (isRefusal(first)) return explainSignIn(line, first, checks.token, diagnosis, begin);
  const declared = await discover(line);
  if (!declared) return explainRefusal(line, first, diagnosis);
  begin("modern");
  diagnosis.add({
    id: "modern-only",
    step: "handshake",
    severity: "note",
    fault: "host",
    what: "The server has no handshake, so hosts need a protocol version without sessions.",
    fix: "Serve the versions with a handshake as well, as long as your hosts need them.",
  });
  const { refused } = await checkLists(declared, modernRequests(line), diagnosis);
  if (refused) await explainSignIn(line, refused, checks.token, diagnosis, begin);
}

/** Sends a body that no server accepts. A server that uses mcp-edge gives a reason for which it is recognized. */
async function recognize(line: Line, diagnosis: Diagnosis): Promise<void> {
  const answer = await post(line, { method: 0 });
  if (!isExchange(answer)) return;
  diagnosis.isOurs = reasonOf(answer) !== undefined;
}

/** Whether a response asks for a token, or refuses the one that was sent. */
function isRefusal(answer: Exchange): boolean {
  return answer.status === 401 || (answer.status === 403 && answer.headers.has("www-authenticate"));
}

async function explainSignIn(
  line: Line,
  refused: Exchange,
  token: string | undefined,
  diagnosis: Diagnosis,
  begin: (step: Step) => void,
): Promise<void> {
  begin("sign-in");
  const signIn = await checkSignIn(line, refused, diagnosis);
  if (token === undefined) {
    diagnosis.needsSignIn = true;
    return;
  }
  begin("token");
  if (refused.status === 401) explainRefused(token, refused, signIn, diagnosis);
  else explainForbidden(token, refused, signIn, diagnosis);
}

/** The steps after a handshake. */
async function converse(
  conversation: Conversation,
  { token, call }: HttpChecks,
  diagnosis: Diagnosis,
  begin: (step: Step) => void,
): Promise<void> {
  const { line } = conversation;
  if (token !== undefined) checkAccepted(token, diagnosis);
  begin("handshake");
  const isOpen = await checkHandshake(conversation, diagnosis);
  if (!isOpen) return conversation.end();
  begin("session");
  await checkSession(conversation, diagnosis);
  begin("lists");
  const request: RequestPage = (method, params) => conversation.request(method, params);
  const { tools, refused } = await checkLists(conversation, request, diagnosis);
  if (refused) await explainLate(line, refused, token, diagnosis, begin);
  begin("stream");
  await checkStream(conversation, diagnosis);
  begin("modern");
  await checkModern(line, diagnosis);
  begin("call");
  if (call !== undefined) await callTool(call, tools, request, diagnosis);
  await conversation.end();
}

/** A server may admit the handshake without a token, but with a token a refused list shows a connected server without tools. */
async function explainLate(
  line: Line,
  refused: Exchange,
  token: string | undefined,
  diagnosis: Diagnosis,
  begin: (step: Step) => void,
): Promise<void> {
  if (token !== undefined) addLate("tools/list", refused, diagnosis);
  await explainSignIn(line, refused, token, diagnosis, begin);
}

async function callTool(
  name: string,
  tools: readonly ListedTool[],
  request: RequestPage,
  diagnosis: Diagnosis,
): Promise<void> {
  if (!tools.some((each) => each.name === name)) return checkCall(name, tools, {}, diagnosis);
  const { answer, result } = await request("tools/call", { name, arguments: {} });
  if (isExchange(answer) && isRefusal(answer)) return addLate("tools/call", answer, diagnosis);
  checkCall(name, tools, result ? { result } : { failure: describeExchange(answer) }, diagnosis);
}
