/** The faults of the platform that tests inject: see platform.ts. */

/** The message with which the platform refuses an operation above the spending limit of the account. */
export const SPENDING_LIMIT = "Exceeded the account's spending cap for Durable Objects.";

/** "null" is an exception that is not an object. */
export type FaultKind = "spending-limit" | "overloaded" | "reset" | "unreachable" | "full" | "null";

/**
 * Where the kit uses the platform: a call of an object ("call", by RPC or for a WebSocket), any use of its storage ("sql"),
 * a write ("write"), and `setAlarm`.
 */
export type Place = "call" | "sql" | "write" | "setAlarm";

export interface Fault {
  readonly kind: FaultKind;
  readonly place: Place;
  /** The beginning of the role and method, such as "session/post". @default everywhere */
  readonly where?: string;
  /** The number of times that it occurs. @default always */
  times?: number;
  /** The number of times that the place is passed before. */
  skip?: number;
}

export interface PlatformCommand {
  /** Replaces all faults. */
  readonly faults?: readonly Fault[];
}
