/**
 * The prices of Workers and Durable Objects.
 *
 * @module
 */

/** Published prices of Workers Paid in US dollars, without the included amounts. */
export const PRICES = {
  readOn: "2026-11-21",
  workerRequest: 0.3e-6,
  objectRequest: 0.15e-6,
  /** A WebSocket message into an object is a twentieth of a request. */
  message: 0.15e-6 / 20,
  rowRead: 0.001e-6,
  rowWritten: 1e-6,
  /** One second of an object in memory: 128 MB at $12.50 per million GB-s. */
  objectSecond: 0.128 * 12.5e-6,
} as const;

/** What Cloudflare bills by number. */
export interface Billable {
  /** Requests to the Worker itself. */
  readonly workerRequests: number;
  /** Requests to objects. */
  readonly requests: number;
  /** WebSocket messages into objects. */
  readonly messages: number;
  /** Alarms that ran. */
  readonly alarms: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** Returns the price of a million, in US dollars. @param objectSeconds Seconds in which an object is in memory only for it. */
export function dollarsPerMillion(billable: Billable, objectSeconds = 0): number {
  const one =
    billable.workerRequests * PRICES.workerRequest +
    (billable.requests + billable.alarms) * PRICES.objectRequest +
    billable.messages * PRICES.message +
    billable.rowsRead * PRICES.rowRead +
    billable.rowsWritten * PRICES.rowWritten +
    objectSeconds * PRICES.objectSecond;
  return one * 1_000_000;
}
