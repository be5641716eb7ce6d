/**
 * Finds faults of handlers: exceptions, errors of mcp-edge about handlers, repeated questions, too many progress notifications.
 *
 * @module
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";
import type { LiveInvocation } from "../assemble/live-invocation.ts";
import type { Finding, RecordedException } from "../entry.ts";
import { type Examined, placeOf } from "./examined.ts";

/** Advice for the errors of mcp-edge, by their codes. */
const ADVICE: Readonly<Record<string, string>> = {
  "replay-diverged":
    "The handler runs again after each answer, and must ask the same questions each time. Read clocks, random values and changing data in ctx.step().",
  "output-misfit": "Clients reject a result that does not match the output schema. Change the handler or the schema.",
  timeout: "The handler exceeded its time limit. Make it faster, or let it continue in the background as a task.",
};

/** Finds the exceptions that were thrown or logged. */
export function findExceptions({ entry }: Examined): Finding[] {
  const seen = new Set<string>();
  return entry.invocations.flatMap((invocation) =>
    invocation.exceptions.flatMap((exception) => {
      const finding = toFinding(exception, invocation);
      const key = finding.what + finding.where;
      if (seen.has(key) || seen.size >= 10) return [];
      seen.add(key);
      return [finding];
    }),
  );
}

/** Matches stack lines in a package or in the runtime. */
const LIBRARY_LINE = /node_modules|mcp-edge\/(?:dist|src)\/|\(<anonymous>\)|\bnode:/;

function toFinding(exception: RecordedException, invocation: LiveInvocation): Finding {
  const { name, message, code, reference, stack } = exception;
  const places = stack?.split("\n") ?? [];
  const own = places.find((line) => !LIBRARY_LINE.test(line));
  // An error that mcp-edge itself creates has no position in the author's code.
  const place = own ?? (code === undefined ? places[0] : undefined);
  const why = code === undefined ? explain(reference) : ADVICE[code];
  return {
    what: `${name}: ${message}${reference === undefined ? "" : ` (reference ${reference})`}`,
    where: place === undefined ? placeOf(invocation) : place.trim(),
    why: why ?? "",
  };
}

function explain(reference: string | undefined): string {
  // An exception that was caught and logged, for example by a plugin, has no reference.
  return reference === undefined
    ? "The exception was logged, or was not caught. The call itself may have succeeded."
    : "The handler threw an exception. The client received only a reference, not the message.";
}

/** Finds a call with too many progress notifications. */
export function findProgressFlood({ entry, thresholds }: Examined): Finding[] {
  const sent = entry.messages.filter(({ message }) => isObject(message) && message.method === "notifications/progress");
  const count = sent.length + (entry.omitted.messages > 0 ? entry.omitted.messages : 0);
  if (sent.length < thresholds.progress) return [];
  return [
    {
      what: `${count} progress notifications in one call`,
      where: entry.facts.target ?? entry.facts.method ?? "",
      why: "Clients do not display that many, and in a session each group of them is a written row. Report progress only when a user would notice it.",
    },
  ];
}

/** Finds a question that is asked repeatedly, in one call or across its rounds. */
export function findRepeatedQuestions(examined: Examined): Finding[] {
  const { entry, thresholds } = examined;
  const questions = [...entry.questions, ...earlierQuestions(examined)];
  const counts = new Map<string, { readonly method: string; count: number }>();
  for (const { key, method } of questions) {
    const known = counts.get(key) ?? { method, count: 0 };
    known.count += 1;
    counts.set(key, known);
  }
  return [...counts.values()]
    .filter(({ count }) => count >= thresholds.equalQuestions)
    .map(({ method, count }) => ({
      what: `The same question was asked ${count} times: ${method}`,
      where: entry.facts.target ?? entry.facts.method ?? "",
      why: "The handler asks in a loop, regardless of the answer. Accept an answer, or end with an error that says what is wrong with it.",
    }));
}

/** Returns the questions of earlier rounds. In the modern era, each round is a separate exchange. */
function earlierQuestions({ entry, find }: Examined): { readonly key: string; readonly method: string }[] {
  const found: { readonly key: string; readonly method: string }[] = [];
  let current = entry;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const before = current.continues === undefined ? undefined : find(current.continues);
    if (!before) break;
    found.push(...before.questions);
    current = before;
  }
  return found;
}

const ROUNDS_MAX = 50;
