/**
 * Finds faults of timing: work that outlives its result, objects that stay in memory, alarms that never end.
 *
 * @module
 */
import type { LiveEntry } from "../assemble/live-entry.ts";
import type { LiveInvocation, LiveSpan } from "../assemble/live-invocation.ts";
import type { Finding } from "../entry.ts";
import { describeSpan, type Examined, endOf, findRoot, isAuthorWork, placeOf } from "./examined.ts";

/** Finds work that was unfinished when the result was sent. */
export function findLateWork({ entry, nowMs }: Examined): Finding[] {
  const root = findRoot(entry);
  if (!root || entry.facts.method === undefined || entry.kind !== "request") return [];
  const answers = entry.messages.filter(({ from, message }) => from === "server" && isAnswer(message));
  const sentAtMs = answers.at(-1)?.atMs;
  if (sentAtMs === undefined) return [];
  return entry.invocations.flatMap((invocation) => {
    const late = isAbandoned(invocation)
      ? [`the method ${invocation.method} of this object`]
      : lateWork(invocation, invocation === root, sentAtMs, nowMs);
    const [first] = late;
    if (first === undefined) return [];
    return [
      {
        what: `Work continued after the result was sent: ${first}${late.length > 1 ? `, and ${late.length - 1} more` : ""}`,
        where: placeOf(invocation),
        why: "An await is missing. The platform can stop such work at any time, and its errors are not reported. Await it, or pass it to ctx.waitUntil.",
      },
    ];
  });
}

/**
 * Returns whether the caller of an object's method ended before the method returned. workerd then ends the invocation, and attributes
 * what the method still does to another one.
 */
function isAbandoned(invocation: LiveInvocation): boolean {
  const { onset, method, outcome, answeredAtMs, exceptions, isOfEndpoint, role } = invocation;
  if (onset.cause !== "jsrpc" || method === undefined || isOfEndpoint || role !== undefined) return false;
  return outcome === "ok" && answeredAtMs === undefined && exceptions.length === 0;
}

/** Describes the work that an invocation did after the result was sent. */
function lateWork(invocation: LiveInvocation, isRoot: boolean, sentAtMs: number, nowMs: number): readonly string[] {
  const { answeredAtMs, openAtAnswer, role, spans, logs } = invocation;
  if (isRoot && answeredAtMs !== undefined) {
    const later = spans.filter(({ startedAtMs }) => startedAtMs > answeredAtMs);
    const lines = logs.filter(({ atMs }) => atMs > answeredAtMs + TOLERANCE_MS);
    return [...new Set([...openAtAnswer.filter(hasEnd), ...later])]
      .filter((span) => isAuthorWork(span, invocation))
      .map(describeSpan)
      .concat(lines.map(() => "a log line"));
  }
  // In a session, the handler runs in the object of the session, which also stores the messages that it sends.
  if (role !== "session") return [];
  return spans
    .filter(
      (span) =>
        isAuthorWork(span, invocation) &&
        (hasEnd(span) ? endOf(span, nowMs) : span.startedAtMs) > sentAtMs + TOLERANCE_MS,
    )
    .map(describeSpan);
}

/** Returns whether the end of a span is the end of its work. workerd ends calls to objects only when the caller ends. */
function hasEnd({ name }: LiveSpan): boolean {
  return name !== "object";
}

/** Tolerance in milliseconds, because the clock of workerd does not advance while code runs, and messages take some time. */
const TOLERANCE_MS = 50;

function isAnswer(message: unknown): boolean {
  return typeof message === "object" && message !== null && "id" in message && !("method" in message);
}

/** Finds objects that stay in memory long after their response. */
export function findObjectsInMemory({ entry, nowMs, thresholds }: Examined): Finding[] {
  return entry.invocations
    .filter(({ onset, answeredAtMs }) => onset.isObject && onset.isUpgrade !== true && answeredAtMs !== undefined)
    .filter(({ role }) => role === undefined || !waitsForClient(entry))
    .map((invocation) => ({ invocation, ms: (invocation.endedAtMs ?? nowMs) - (invocation.answeredAtMs ?? nowMs) }))
    .filter(({ ms }) => ms >= thresholds.awakeMs)
    .slice(0, 3)
    .map(({ invocation, ms }) => ({
      what: `The object stayed in memory for ${Math.round(ms / 1000)} s after its response`,
      where: placeOf(invocation),
      why: "A timer, a request or a socket is pending, and the object is billed until it ends. Use an alarm instead of a timer.",
    }));
}

/** Returns whether the session of an entry may wait for an answer of its client. No author can shorten that. */
function waitsForClient({ kind, questions }: LiveEntry): boolean {
  return kind !== "request" || questions.length > 0;
}

/** Finds alarms that repeatedly set the next alarm. */
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
      what: `An alarm ran ${before + 1} times, and each run sets the next one in ${formatMs(everyMs)}`,
      where: placeOf(invocation),
      why: "Each run wakes the object, and is billed as a request and a written row. Set an alarm only when work is due, not to poll.",
    },
  ];
}

function formatMs(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1_000)} s`;
}
