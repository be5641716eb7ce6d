/**
 * The stream of a session, and its resumption.
 *
 * @module
 */
import { PROFILES } from "../../host-profiles/profiles.ts";
import type { Conversation } from "./conversation.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { explainHost } from "./endpoint.ts";
import { describeExchange, type Exchange, isExchange } from "./exchange.ts";

/** How long the headers of a stream may take, in milliseconds. A proxy that holds them back sends them with the first event. */
const HEADERS_MS = 5_000;

const BASE = { step: "stream", severity: "degrades" } as const;

/** Opens the stream of the session, and resumes a stream that had an event with an id. */
export async function checkStream(conversation: Conversation, diagnosis: Diagnosis): Promise<void> {
  const answer = await conversation.openStream({}, Math.min(HEADERS_MS, conversation.line.timeoutMs));
  if (!isExchange(answer)) {
    if (answer.failure !== "timeout") return;
    diagnosis.add({
      ...BASE,
      id: "stream-buffered",
      fault: "network",
      what: `The headers of the event stream did not arrive within ${HEADERS_MS / 1_000} s, so notifications are held back.`,
      fix: "Turn off buffering and compression for text/event-stream in the proxy, and send a comment when a stream opens.",
    });
    return;
  }
  const isStream = answer.status === 200 && answer.mediaType === "text/event-stream";
  if (isStream) await checkResumption(conversation, diagnosis);
  else if (answer.status !== 405) addRefused(conversation, answer, diagnosis);
}

function addRefused({ line }: Conversation, answer: Exchange, diagnosis: Diagnosis): void {
  const aboutHost = explainHost(line, answer);
  if (aboutHost) {
    const what = `${aboutHost.what} Only GET is refused, so calls succeed, but notifications do not arrive.`;
    diagnosis.add({ ...aboutHost, ...BASE, what });
    return;
  }
  const strict = PROFILES.filter(({ requiresStreamOr405 }) => requiresStreamOr405?.value);
  const [known] = strict;
  // mcp-edge accepts the Accept header that was sent.
  const isChanged = diagnosis.isOurs && answer.status === 406;
  diagnosis.add({
    ...BASE,
    id: "stream-refused",
    fault: isChanged ? "network" : "server",
    hosts: strict.map(({ name }) => name),
    what: `GET returns ${describeExchange(answer)} instead of a stream or 405, so the host reconnects again and again.`,
    fix: "Respond to GET with text/event-stream, or with 405 if the server does not send notifications.",
    ours: isChanged ? "Let the proxy forward the header Accept unchanged." : undefined,
    ...(known?.requiresStreamOr405 ? { source: known.requiresStreamOr405.source } : {}),
  });
}

async function checkResumption(conversation: Conversation, diagnosis: Diagnosis): Promise<void> {
  const { answer } = await conversation.request("ping");
  const eventId = isExchange(answer) ? answer.eventId : undefined;
  if (eventId === undefined) return;
  const resumed = await conversation.openStream({ "Last-Event-ID": eventId });
  if (!isExchange(resumed) || resumed.status === 200 || resumed.status === 405) return;
  diagnosis.add({
    ...BASE,
    id: "resume-refused",
    fault: "server",
    what: `The events of streams have ids, but a stream cannot be resumed: ${describeExchange(resumed)}.`,
    fix: "Respond to GET with Last-Event-ID with the events after it, or send no ids.",
  });
}
