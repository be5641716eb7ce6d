/** The leaks that a soak test detects and can also cause on purpose. Leaked descriptors are only detected, because a Worker opens none. */
export type Leak = "memory" | "rows" | "alarms";
