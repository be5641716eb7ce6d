/**
 * Finds probable faults in an entry, and where they are.
 *
 * @module
 */
import type { Finding } from "../entry.ts";
import { findCut, findIgnoredRetryAfter, findRefusal, findSessionForEach } from "./caller.ts";
import type { Examined } from "./examined.ts";
import { findExceptions, findProgressFlood, findRepeatedQuestions } from "./handler.ts";
import { findOutputMisfit } from "./output.ts";
import { findStatementsForEach, findUnboundedReads, findWritesOfReader } from "./storage.ts";
import { findAlarmChain, findAwake, findLostWork } from "./time.ts";
import { findFailedRequests, findSlowUpstream, findUnanswered } from "./upstream.ts";

const FINDERS: readonly ((examined: Examined) => readonly Finding[])[] = [
  findExceptions,
  findOutputMisfit,
  findCut,
  findRefusal,
  findRepeatedQuestions,
  findStatementsForEach,
  findUnboundedReads,
  findWritesOfReader,
  findFailedRequests,
  findSlowUpstream,
  findUnanswered,
  findLostWork,
  findAwake,
  findAlarmChain,
  findProgressFlood,
  findIgnoredRetryAfter,
  findSessionForEach,
];

/** Returns the findings of an entry. */
export function findAll(examined: Examined): readonly Finding[] {
  return FINDERS.flatMap((find) => find(examined));
}
