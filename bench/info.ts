/** The name and version that all servers report. */
export const INFO = { name: "bench", version: "1.0.0" } as const;
