/**
 * Finds failed, slow and unanswered requests to other servers.
 *
 * @module
 */
import type { LiveEntry } from "../assemble/live-entry.ts";
import type { LiveInvocation, LiveSpan } from "../assemble/live-invocation.ts";
import type { Finding } from "../entry.ts";
import { describeSpan, type Examined, endOf, placeOf } from "./examined.ts";

/** Spans of requests to other servers. */
const REQUESTS = /^(?:fetch|ai_\w+)$/;

interface FoundSpan {
  readonly invocation: LiveInvocation;
  readonly span: LiveSpan;
}

function findSpans({ invocations }: LiveEntry, matches: (span: LiveSpan) => boolean): FoundSpan[] {
  return invocations.flatMap((invocation) => invocation.spans.filter(matches).map((span) => ({ invocation, span })));
}

/** Statuses of servers that answer a question, such as whether something exists, and do not fail. */
const ANSWERS: ReadonlySet<number> = new Set([404, 409, 410, 412]);

/** Finds requests that other servers refused, or failed to serve. */
export function findFailedRequests({ entry }: Examined): Finding[] {
  const failed = findSpans(entry, ({ name, status = 0 }) => name === "fetch" && status >= 400 && !ANSWERS.has(status));
  const [first] = failed;
  if (!first) return [];
  const { span, invocation } = first;
  const others = failed.length > 1 ? `, and ${failed.length - 1} more requests failed` : "";
  return [
    {
      what: `Another server responded with status ${span.status}: ${describeSpan(span)}${others}`,
      where: placeOf(invocation),
      why: `${reasonOf(span.status ?? 0)} fetch does not throw for a status: check response.ok, and throw a ToolError that names the cause.`,
    },
  ];
}

function reasonOf(status: number): string {
  if (status === 401 || status === 403) return "It does not accept the credentials of the request.";
  if (status === 429) return "It limits how many requests it serves. Its header Retry-After says when to try again.";
  return status >= 500 ? "It failed, or is overloaded." : "It does not accept the request.";
}

/** Finds a request to another server that takes more than half of the call. */
export function findSlowUpstream({ entry, nowMs, thresholds }: Examined): Finding[] {
  if (entry.ms === undefined) return [];
  const whole = entry.ms;
  return findSpans(entry, ({ name }) => REQUESTS.test(name))
    .map((place) => ({ ...place, ms: endOf(place.span, nowMs) - place.span.startedAtMs }))
    .filter(({ ms, span }) => span.endedAtMs !== undefined && ms >= thresholds.upstreamMs && ms > whole / 2)
    .map(({ span, invocation, ms }) => ({
      what: `${Math.round(ms)} of ${Math.round(whole)} ms were spent waiting for another server: ${describeSpan(span)}`,
      where: placeOf(invocation),
      why: "The call cannot be faster than this server. Send requests in parallel, cache the responses, or continue in the background as a task.",
    }))
    .slice(0, 3);
}

/** Finds a request to another server that gets no response. */
export function findUnanswered({ entry, nowMs, thresholds }: Examined): Finding[] {
  return findSpans(entry, ({ name, endedAtMs }) => REQUESTS.test(name) && endedAtMs === undefined)
    .map((place) => ({ ...place, ms: (place.invocation.endedAtMs ?? nowMs) - place.span.startedAtMs }))
    .filter(({ ms }) => ms >= thresholds.unansweredMs)
    .map(({ span, invocation, ms }) => ({
      what: `No response for ${Math.round(ms / 1000)} s: ${describeSpan(span)}`,
      where: placeOf(invocation),
      why: "The request has no timeout. Pass a signal to fetch: AbortSignal.any([ctx.signal, AbortSignal.timeout(5_000)]).",
    }))
    .slice(0, 3);
}
