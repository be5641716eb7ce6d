/** Who the servers say they are. */
export const INFO = { name: "bench", version: "1.0.0" } as const;
