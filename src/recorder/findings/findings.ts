/**
 * Finds probable faults in an entry, and where they are.
 *
 * @module
 */
import type { Finding } from "../entry.ts";
import { findCut, findIgnoredRetryAfter, findRefusal, findSessionPerCall } from "./caller.ts";
import type { Examined } from "./examined.ts";
import { findExceptions, findProgressFlood, findRepeatedQuestions } from "./handler.ts";
import { findOutputMisfit } from "./output.ts";
import { findReadOnlyWrites, findRepeatedOperations, findUnboundedReads } from "./storage.ts";
import { findAlarmChain, findLateWork, findObjectsInMemory } from "./time.ts";
import { findFailedRequests, findSlowUpstream, findUnanswered } from "./upstream.ts";

const FINDERS: readonly ((examined: Examined) => readonly Finding[])[] = [
  findExceptions,
  findOutputMisfit,
  findCut,
  findRefusal,
  findRepeatedQuestions,
  findRepeatedOperations,
  findUnboundedReads,
  findReadOnlyWrites,
  findFailedRequests,
  findSlowUpstream,
  findUnanswered,
  findLateWork,
  findObjectsInMemory,
  findAlarmChain,
  findProgressFlood,
  findIgnoredRetryAfter,
  findSessionPerCall,
];

/** Returns the findings of an entry. */
export function findAll(examined: Examined): readonly Finding[] {
  return FINDERS.flatMap((find) => find(examined));
}
