/** The purpose of a stream, as it is stored. Imported as a namespace, so that bundles contain numbers and no names. */

/** Carries the messages of one POST. */
export const Call = 0;
/** A standalone stream, for messages that do not belong to a call. */
export const Own = 1;
/** Messages that wait for the client to open a standalone stream, which then takes over this number. */
export const Waiting = 2;
/** Not a stream, but the record of a pending call of an HTTP+SSE client. Its `requests` are an `HttpSseCall`. */
export const HttpSseCall = 3;

export type Kind = typeof Call | typeof Own | typeof Waiting | typeof HttpSseCall;
