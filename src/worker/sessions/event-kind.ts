/** How long a row of events is kept, as it is stored. Imported as a namespace, so that bundles contain numbers and no names. */

/** Progress and log messages, which are deleted first when the log is full. */
export const News = 0 as const;
/** The last row of its stream. */
export const Final = 1 as const;
/** Kept as long as its stream, because the call depends on it. */
export const Kept = 2 as const;

export type Kind = typeof News | typeof Final | typeof Kept;
