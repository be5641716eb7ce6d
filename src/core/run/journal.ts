/**
 * The journal of a call: the answers of its client and the results of its steps, by key. With it, a handler that runs
 * again from the top reaches the same point.
 *
 * @module
 */
import type { FailedQuestion } from "../ask/answers.ts";
import type { Question } from "../ask/questions.ts";
import { fingerprint } from "../basics/bytes.ts";
import { canonical } from "../seal/canonical.ts";

/** The outcome of a question or a step. */
export type JournalEntry =
  /** `digest` is the digest of the question. Absent if the client answered before a run asked. */
  | { readonly key: string; readonly digest?: string | undefined; readonly answer: unknown }
  | { readonly key: string; readonly digest: string; readonly failed: FailedQuestion }
  | StepEntry;

/** An entry of a question. */
export type QuestionEntry = Exclude<JournalEntry, StepEntry>;

/** `result` is absent if the step returned undefined, which JSON cannot express. */
export interface StepEntry {
  readonly key: string;
  readonly step: true;
  readonly result?: unknown;
}

/** Whether an entry is an answer that arrived before its question was asked. */
export function isEarly(entry: JournalEntry): boolean {
  return "answer" in entry && entry.digest === undefined;
}

/** A stored journal, as JSON. */
export interface JournalData {
  /** The id of the call, from which steps derive their keys. */
  readonly id: string;
  /** The number of runs so far. */
  readonly rounds: number;
  readonly entries: readonly JournalEntry[];
  /** The questions that the last run asked, by key and digest. */
  readonly asked: readonly (readonly [key: string, digest: string])[];
}

export function newJournal(): JournalData {
  return { id: crypto.randomUUID(), rounds: 0, entries: [], asked: [] };
}

/**
 * Adds the answers of a client to a journal: the answers to its last questions, or all answers before the first run.
 */
export function withAnswers(journal: JournalData, responses: Readonly<Record<string, unknown>>): JournalData {
  const asked: readonly (readonly [string, string | undefined])[] =
    journal.rounds === 0 ? Object.keys(responses).map((key) => [key, undefined]) : journal.asked;
  const answers = asked.flatMap(([key, digest]): JournalEntry[] =>
    Object.hasOwn(responses, key) ? [{ key, digest, answer: responses[key] }] : [],
  );
  return { ...journal, entries: [...journal.entries, ...answers] };
}

/** Returns the entry of a question that ended without an answer. */
export function failedEntry(key: string, digest: string, { reason, message, code }: FailedQuestion): QuestionEntry {
  return { key, digest, failed: { reason, message, code } };
}

/** Returns a digest that distinguishes questions. It is not cryptographic. */
export function computeDigest({ method, params = {} }: Question): string {
  // The id is left out, because each question gets a new id unless the author has set it.
  const { elicitationId: _, ...rest } = params;
  return digest(JSON.stringify([method, canonical(rest)]))
    .map((half) => half.toString(36))
    .join("");
}

/** Returns a UUID that depends only on the call and the name. */
export function idFrom(callId: string, name: string): string {
  const hex = digest(name)
    .map((half) => half.toString(16).padStart(8, "0"))
    .join("");
  return callId.slice(0, -12) + hex.slice(0, 12);
}

/**
 * Returns a hash of 64 bits, as two halves. It is synchronous, so that questions of one turn of the event loop are sent
 * together.
 */
function digest(text: string): readonly [number, number] {
  return [fingerprint(text), fingerprint(text, 0x2f0b4a27, 15)];
}
