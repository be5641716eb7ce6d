/**
 * Faults of handlers: exceptions, questions that differ or repeat, results that do not fit, floods of progress.
 *
 * @module
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";
import type { LiveInvocation } from "../assemble/live-invocation.ts";
import type { Finding, RecordedException } from "../entry.ts";
import { type Examined, placeOf } from "./examined.ts";

/** What errors of mcp-edge mean. */
const KNOWN: Readonly<Record<string, string>> = {
  "replay-diverged":
    "The handler runs again after each answer, and must ask the same each time. Put clocks, random values and data that changes into ctx.step().",
  "output-misfit": "Clients refuse a result that does not fit the output schema. Change the handler or the schema.",
  timeout:
    "The handler took longer than its time limit. Make it faster, or let it continue in the background as a task.",
};

/** Names the exceptions behind what the client received. */
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

/** Lines of a stack that are in a package or in the runtime. */
const NOT_OF_AUTHOR = /node_modules|mcp-edge\/(?:dist|src)\/|\(<anonymous>\)|\bnode:/;

function toFinding(exception: RecordedException, invocation: LiveInvocation): Finding {
  const { name, message, code, reference, stack } = exception;
  const places = stack?.split("\n") ?? [];
  const own = places.find((line) => !NOT_OF_AUTHOR.test(line));
  // An error that the kit itself creates has no place in the author's code.
  const place = own ?? (code === undefined ? places[0] : undefined);
  const why =
    code === undefined
      ? "The handler has thrown. The client received a reference only, and not the message."
      : KNOWN[code];
  return {
    what: `${name}: ${message}${reference === undefined ? "" : ` (reference ${reference})`}`,
    where: place === undefined ? placeOf(invocation) : place.trim(),
    why: why ?? "",
  };
}

/** Finds many progress notifications of one call. */
export function findProgressFlood({ entry, thresholds }: Examined): Finding[] {
  const sent = entry.messages.filter(({ message }) => isObject(message) && message.method === "notifications/progress");
  const count = sent.length + (entry.omitted.messages > 0 ? entry.omitted.messages : 0);
  if (sent.length < thresholds.progress) return [];
  return [
    {
      what: `${count} progress notifications in one call`,
      where: entry.facts.target ?? entry.facts.method ?? "",
      why: "No client shows so many, and in a session each group is a row. Report progress when a person would notice it.",
    },
  ];
}

/** Finds a question that is asked again and again, in one call or in its rounds. */
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
      why: "The handler asks in a loop, whatever the answer is. Accept an answer, or end with an error that says what is wrong with it.",
    }));
}

/** The questions of earlier rounds: in 2026-07-28, each is an exchange of its own. */
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
