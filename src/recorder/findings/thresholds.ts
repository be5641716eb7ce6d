/**
 * What is taken for a fault.
 *
 * @module
 */

/** The numbers above which something is taken for a fault. Times are in milliseconds. */
export interface Thresholds {
  /** Equal statements, or calls of objects, in one invocation. */
  readonly equalStatements: number;
  /** Rows that one statement reads. */
  readonly rowsOfStatement: number;
  /** Progress notifications of one call. */
  readonly progress: number;
  /** How many times one question may be asked before it is reported. */
  readonly equalQuestions: number;
  /** How long a request to another server may take, if that is most of the call. */
  readonly upstreamMs: number;
  /** How long a request to another server may take without an answer. */
  readonly unansweredMs: number;
  /** How long an object may be in memory after it has answered. workerd waits 10 s before it removes an object without work. */
  readonly awakeMs: number;
  /** Alarms of one object of which each sets the next one, and the time between them. */
  readonly alarms: number;
  readonly alarmEveryMs: number;
  /** Sessions of one client with at most one call each, and the time in which they were opened. */
  readonly sessions: number;
  readonly sessionsMs: number;
}

export const THRESHOLDS: Thresholds = {
  equalStatements: 20,
  rowsOfStatement: 1_000,
  progress: 200,
  equalQuestions: 3,
  upstreamMs: 1_000,
  unansweredMs: 10_000,
  awakeMs: 12_000,
  alarms: 3,
  alarmEveryMs: 5 * 60_000,
  sessions: 3,
  sessionsMs: 10 * 60_000,
};
