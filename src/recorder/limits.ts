/**
 * The bounds of a recording, so that no client and no server can fill memory.
 *
 * @module
 */

/** The maximum number of entries. The oldest are removed first. @limit internal */
export const ENTRIES_MAX = 10_000;

/** The maximum size of all entries, as JSON, in characters. The oldest are removed first. @limit internal */
export const CHARACTERS_MAX = 64 * 1024 * 1024;

/** The maximum number of messages of an entry. Results and questions are kept beyond it, up to twice as many. @limit internal */
export const MESSAGES_MAX = 1_000;

/** The maximum size of the messages of an entry, in characters. @limit internal */
export const MESSAGES_CHARACTERS_MAX = 2 * 1024 * 1024;

/** The maximum size of one message, in characters. Of a larger one only the shape is kept. @limit internal */
export const MESSAGE_CHARACTERS_MAX = 256 * 1024;

/** The maximum number of invocations of an entry, such as the WebSocket messages of a stream. @limit internal */
export const INVOCATIONS_MAX = 500;

/** The maximum number of spans of an entry. They are counted beyond it. @limit internal */
export const SPANS_MAX = 2_000;

/** The maximum number of log lines of an entry. @limit internal */
export const LOGS_MAX = 500;

/** The maximum number of links of one kind: questions, events, states, tasks, objects. @limit internal */
export const LINKS_MAX = 20_000;
