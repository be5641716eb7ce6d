/**
 * The prices of Workers and Durable Objects.
 *
 * @module
 */

/** Published prices of the Workers Paid plan in US dollars. Included usage is ignored. */
export const PRICES = {
  readOn: "2026-11-21",
  workerRequest: 0.3e-6,
  objectRequest: 0.15e-6,
  /** A WebSocket message to an object is billed as a twentieth of a request. */
  message: 0.15e-6 / 20,
  rowRead: 0.001e-6,
  rowWritten: 1e-6,
  /** One second in which an object is in memory: 128 MB at $12.50 per million GB-s. */
  objectSecond: 0.128 * 12.5e-6,
} as const;

/** The usage that Cloudflare bills by count. */
export interface Billable {
  /** Requests to the Worker itself. */
  readonly workerRequests: number;
  /** Requests to objects. */
  readonly requests: number;
  /** WebSocket messages to objects. */
  readonly messages: number;
  /** Alarms that ran. */
  readonly alarms: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** Returns the price of a million exchanges in US dollars. @param objectSeconds How long one keeps an object in memory. */
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
