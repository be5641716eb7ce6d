/**
 * The journal of a call: the answers of its client and the results of its steps, by key. With it a handler is run again
 * from the top and returns to where it was.
 *
 * @module
 */
import type { FailedQuestion } from "../ask/answers.ts";
import type { Question } from "../ask/questions.ts";
import { fingerprint } from "../protocol/bytes.ts";
import { canonical } from "../seal/canonical.ts";

/** The outcome of a question or a step. */
export type JournalEntry =
  /** `digest`: of the question; absent when the client answered before any run of ours asked. */
  | { readonly key: string; readonly digest?: string | undefined; readonly answer: unknown }
  | { readonly key: string; readonly digest: string; readonly failed: FailedQuestion }
  | StepEntry;

/** An entry of a question. */
export type QuestionEntry = Exclude<JournalEntry, StepEntry>;

/** `result` is absent where the step returned nothing: JSON has no undefined. */
export interface StepEntry {
  readonly key: string;
  readonly step: true;
  readonly result?: unknown;
}

/** Whether it is of an answer that came before it was asked for. */
export function isEarly(entry: JournalEntry): boolean {
  return "answer" in entry && entry.digest === undefined;
}

/** A journal at rest: JSON. */
export interface JournalData {
  /** The id of the call: steps derive their keys from it. */
  readonly id: string;
  /** Runs so far. */
  readonly rounds: number;
  readonly entries: readonly JournalEntry[];
  /** Questions the client was asked last: key and digest. */
  readonly asked: readonly (readonly [key: string, digest: string])[];
}

export function newJournal(): JournalData {
  return { id: crypto.randomUUID(), rounds: 0, entries: [], asked: [] };
}

/** Returns a journal with the answers a client sent: those to its open questions, or all of them before any question. */
export function withAnswers(journal: JournalData, responses: Readonly<Record<string, unknown>>): JournalData {
  const asked: readonly (readonly [string, string | undefined])[] =
    journal.rounds === 0 ? Object.keys(responses).map((key) => [key, undefined]) : journal.asked;
  const answers = asked.flatMap(([key, digest]): JournalEntry[] =>
    Object.hasOwn(responses, key) ? [{ key, digest, answer: responses[key] }] : [],
  );
  return { ...journal, entries: [...journal.entries, ...answers] };
}

/** The entry of a question that ended without an answer. */
export function failedEntry(key: string, digest: string, { reason, message, code }: FailedQuestion): QuestionEntry {
  return { key, digest, failed: { reason, message, code } };
}

/** Returns a digest that distinguishes questions. It is not cryptographic. */
export function digestOf({ method, params = {} }: Question): string {
  // Ids are made anew where the author gave none.
  const { elicitationId: _, ...rest } = params;
  return digest(JSON.stringify([method, canonical(rest)]))
    .map((half) => half.toString(36))
    .join("");
}

/** A UUID that is the same for the same name within a call, and for no other call. */
export function idFrom(callId: string, name: string): string {
  const hex = digest(name)
    .map((half) => half.toString(16).padStart(8, "0"))
    .join("");
  return callId.slice(0, -12) + hex.slice(0, 12);
}

/** A hash of 64 bits, as two halves. Synchronous, because questions of one turn go out together. */
function digest(text: string): readonly [number, number] {
  return [fingerprint(text), fingerprint(text, 0x2f0b4a27, 15)];
}
