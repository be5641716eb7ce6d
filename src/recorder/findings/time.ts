/**
 * Faults of time: slow and silent servers, work that outlives its result, objects that stay awake.
 *
 * @module
 */
import type { LiveEntry } from "../assemble/live-entry.ts";
import type { LiveInvocation, LiveSpan } from "../assemble/live-invocation.ts";
import type { Finding } from "../entry.ts";
import { describeSpan, type Examined, endOf, findRoot, isOfAuthor, placeOf } from "./examined.ts";

/** Spans of requests to other servers. */
const REQUESTS = /^(?:fetch|ai_\w+)$/;

interface Place {
  readonly invocation: LiveInvocation;
  readonly span: LiveSpan;
}

function spansOf({ invocations }: LiveEntry, isFound: (span: LiveSpan) => boolean): Place[] {
  return invocations.flatMap((invocation) => invocation.spans.filter(isFound).map((span) => ({ invocation, span })));
}

/** Finds a request to another server that takes most of the time. */
export function findSlowUpstream({ entry, nowMs, thresholds }: Examined): Finding[] {
  if (entry.ms === undefined) return [];
  const whole = entry.ms;
  return spansOf(entry, ({ name }) => REQUESTS.test(name))
    .map((place) => ({ ...place, ms: endOf(place.span, nowMs) - place.span.startedAtMs }))
    .filter(({ ms, span }) => span.endedAtMs !== undefined && ms >= thresholds.upstreamMs && ms > whole / 2)
    .map(({ span, invocation, ms }) => ({
      what: `${Math.round(ms)} of ${Math.round(whole)} ms were spent waiting for another server: ${describeSpan(span)}`,
      where: placeOf(invocation),
      why: "The call is as slow as this server. Ask it at the same time as others, keep its answers, or continue in the background as a task.",
    }))
    .slice(0, 3);
}

/** Finds a request to another server that is not answered. */
export function findUnanswered({ entry, nowMs, thresholds }: Examined): Finding[] {
  return spansOf(entry, ({ name, endedAtMs }) => REQUESTS.test(name) && endedAtMs === undefined)
    .map((place) => ({ ...place, ms: (place.invocation.endedAtMs ?? nowMs) - place.span.startedAtMs }))
    .filter(({ ms }) => ms >= thresholds.unansweredMs)
    .map(({ span, invocation, ms }) => ({
      what: `No answer for ${Math.round(ms / 1000)} s: ${describeSpan(span)}`,
      where: placeOf(invocation),
      why: "The request has no time limit. Pass a signal to fetch: AbortSignal.any([ctx.signal, AbortSignal.timeout(5_000)]).",
    }))
    .slice(0, 3);
}

/** Finds work that was not finished when the result was sent. */
export function findLostWork({ entry, nowMs }: Examined): Finding[] {
  const root = findRoot(entry);
  if (!root || entry.facts.method === undefined || entry.kind !== "request") return [];
  const answers = entry.messages.filter(({ from, message }) => from === "server" && isAnswer(message));
  const sentAtMs = answers.at(-1)?.atMs;
  if (sentAtMs === undefined) return [];
  return entry.invocations.flatMap((invocation) => {
    const late = lateWork(invocation, invocation === root, sentAtMs, nowMs);
    const [first] = late;
    if (first === undefined) return [];
    return [
      {
        what: `Work went on after the result was sent: ${first}${late.length > 1 ? `, and ${late.length - 1} more` : ""}`,
        where: placeOf(invocation),
        why: "An await is missing. The platform may end such work at any time, and its errors are not reported. Await it, or pass it to ctx.waitUntil.",
      },
    ];
  });
}

/** Describes the work of an invocation that was not finished when it had answered. */
function lateWork(invocation: LiveInvocation, isRoot: boolean, sentAtMs: number, nowMs: number): readonly string[] {
  const { answeredAtMs, openAtAnswer, role, spans, logs } = invocation;
  if (isRoot && answeredAtMs !== undefined) {
    const later = spans.filter(({ startedAtMs }) => startedAtMs > answeredAtMs);
    const lines = logs.filter(({ atMs }) => atMs > answeredAtMs + TOLERANCE_MS);
    return [...new Set([...openAtAnswer.filter(hasEnd), ...later])]
      .filter((span) => isOfAuthor(span, invocation))
      .map(describeSpan)
      .concat(lines.map(() => "a log line"));
  }
  // In a session, the handler runs in its object, which also stores what it sends.
  if (role !== "session") return [];
  return spans
    .filter(
      (span) =>
        isOfAuthor(span, invocation) &&
        (hasEnd(span) ? endOf(span, nowMs) : span.startedAtMs) > sentAtMs + TOLERANCE_MS,
    )
    .map(describeSpan);
}

/** Whether the end of a span shows when its work was done. workerd ends the call of an object only when its caller ends. */
function hasEnd({ name }: LiveSpan): boolean {
  return name !== "object";
}

/** Clocks of workerd stand still while code runs, and messages take a moment. */
const TOLERANCE_MS = 50;

function isAnswer(message: unknown): boolean {
  return typeof message === "object" && message !== null && "id" in message && !("method" in message);
}

/** Finds objects that stay in memory although they have answered. */
export function findAwake({ entry, nowMs, thresholds }: Examined): Finding[] {
  return entry.invocations
    .filter(({ onset, answeredAtMs }) => onset.isObject && onset.isUpgrade !== true && answeredAtMs !== undefined)
    .map((invocation) => ({ invocation, ms: (invocation.endedAtMs ?? nowMs) - (invocation.answeredAtMs ?? nowMs) }))
    .filter(({ ms }) => ms >= thresholds.awakeMs)
    .slice(0, 3)
    .map(({ invocation, ms }) => ({
      what: `The object was awake for ${Math.round(ms / 1000)} s after it had answered`,
      where: placeOf(invocation),
      why: "A timer, a request or a socket is pending, and the object is billed until it ends. Use an alarm in place of a timer.",
    }));
}

/** Finds alarms of which each sets the next one. */
export function findAlarmChain({ entry, thresholds, find }: Examined): Finding[] {
  if (entry.kind !== "alarm") return [];
  const [invocation] = entry.invocations;
  const objectId = invocation?.onset.objectId;
  if (!invocation || objectId === undefined) return [];
  const due = invocation.spans.find(({ dueAtMs }) => dueAtMs !== undefined)?.dueAtMs;
  const everyMs = due === undefined ? undefined : due - invocation.startedAtMs;
  if (everyMs === undefined || everyMs > thresholds.alarmEveryMs) return [];
  const before = entry.alarmsBefore.filter((id) => find(id) !== undefined).length;
  if (before + 1 < thresholds.alarms) return [];
  return [
    {
      what: `An alarm has run ${before + 1} times, and each run sets the next one in ${formatMs(everyMs)}`,
      where: placeOf(invocation),
      why: "Each run wakes the object, and is billed as a request with a written row. Set an alarm only for what is due, and not to look.",
    },
  ];
}

function formatMs(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1_000)} s`;
}
