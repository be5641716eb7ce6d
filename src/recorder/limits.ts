/**
 * The limits of a recording, so that neither a client nor a server can exhaust memory.
 *
 * @module
 */

/** The maximum number of entries. The oldest entries are evicted. @limit internal */
export const ENTRIES_MAX = 10_000;

/** The maximum size of all entries, in characters of JSON. The oldest entries are evicted. @limit internal */
export const CHARACTERS_MAX = 64 * 1024 * 1024;

/** The maximum number of messages of an entry. For requests and responses, the maximum is twice as high. @limit internal */
export const MESSAGES_MAX = 1_000;

/** The maximum size of the messages of an entry, in characters. @limit internal */
export const MESSAGES_CHARACTERS_MAX = 2 * 1024 * 1024;

/** The maximum size of one message, in characters. Only the shape of a larger message is stored. @limit internal */
export const MESSAGE_CHARACTERS_MAX = 256 * 1024;

/** The maximum number of invocations of an entry, such as the WebSocket messages of a stream. @limit internal */
export const INVOCATIONS_MAX = 500;

/** The maximum number of stored spans of an entry. Additional spans are only counted. @limit internal */
export const SPANS_MAX = 2_000;

/** The maximum number of log lines of an entry. @limit internal */
export const LOGS_MAX = 500;

/** The maximum number of links of one kind: questions, events, states, tasks, objects. @limit internal */
export const LINKS_MAX = 20_000;
