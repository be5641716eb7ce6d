/**
 * The thresholds of findings.
 *
 * @module
 */

/** The values from which something is reported as a finding. Times are in milliseconds. */
export interface Thresholds {
  /** Equal statements, reads or calls in one invocation. */
  readonly equalStatements: number;
  /** Rows read by one statement. */
  readonly rowsOfStatement: number;
  /** Progress notifications of one call. */
  readonly progress: number;
  /** How many times the same question is asked. */
  readonly equalQuestions: number;
  /** The duration of a request to another server, if it is more than half of the call. */
  readonly upstreamMs: number;
  /** How long a request to another server has had no response. */
  readonly unansweredMs: number;
  /** How long an object stays in memory after its response. workerd evicts an idle object after 10 s. */
  readonly awakeMs: number;
  /** Consecutive alarms of one object, each of which sets the next one, and the maximum time between them. */
  readonly alarms: number;
  readonly alarmEveryMs: number;
  /** Sessions of one client with at most one call each, and the period in which they were opened. */
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
