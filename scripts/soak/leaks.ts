/** What a soak looks for. Each can also be leaked on purpose, except descriptors, which a Worker cannot open. */
export type Leak = "memory" | "rows" | "alarms";
