/** The measured scenarios, their floors and their targets. */

/** The figures of one measurement. `value` is compared; the others give details. */
export type Figures = { readonly value: number } & Readonly<Record<string, number>>;

export interface Scenario {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
  /** The contestant that the others are divided by; undefined if the figures themselves are compared. */
  readonly floor?: "floor" | "floor-do" | "floor-zod";
  /** The scenario by whose figure of the same contestant and round the figure is divided, if it has no floor. */
  readonly over?: "awaited-modern";
  /** The target for mcp-edge, as a ratio if there is a floor. */
  readonly target?: { readonly atLeast: number } | { readonly atMost: number };
  /** The contestant that the target applies to. */
  readonly ours: "ours" | "ours-readme";
}

export const SCENARIOS: readonly Scenario[] = [
  {
    key: "modern-call",
    title: "modern tools/call",
    unit: "req/s",
    floor: "floor",
    target: { atLeast: 0.85 },
    ours: "ours-readme",
  },
  {
    key: "modern-list",
    title: "modern tools/list",
    unit: "req/s",
    floor: "floor",
    target: { atLeast: 0.95 },
    ours: "ours-readme",
  },
  {
    key: "stateless-call",
    title: "legacy stateless tools/call",
    unit: "req/s",
    floor: "floor",
    target: { atLeast: 0.9 },
    ours: "ours",
  },
  {
    key: "session-call",
    title: "session tools/call",
    unit: "req/s",
    floor: "floor-do",
    target: { atLeast: 0.85 },
    ours: "ours-readme",
  },
  {
    key: "session-list",
    title: "session tools/list",
    unit: "req/s",
    floor: "floor-do",
    target: { atLeast: 0.95 },
    ours: "ours-readme",
  },
  {
    key: "shared-session",
    title: "tools/call of 16 connections that share a session",
    unit: "req/s",
    floor: "floor-do",
    target: { atLeast: 0.9 },
    ours: "ours-readme",
  },
  {
    key: "new-session",
    title: "new session and first call",
    unit: "/s",
    floor: "floor-do",
    target: { atLeast: 1 },
    ours: "ours-readme",
  },
  { key: "cpu", title: "CPU of a modern call", unit: "us", target: { atMost: 80 }, ours: "ours-readme" },
  { key: "first-event", title: "1,000 events: the first", unit: "ms", ours: "ours-readme" },
  { key: "last-event", title: "1,000 events: the last", unit: "ms", target: { atMost: 10 }, ours: "ours-readme" },
  {
    key: "resume",
    title: "resume of 1,000 events, to the result",
    unit: "ms",
    target: { atMost: 5 },
    ours: "ours-readme",
  },
  {
    key: "awaited-modern",
    title: "1,000 awaited events of a modern call: the last",
    unit: "ms",
    ours: "ours-readme",
  },
  {
    key: "awaited",
    title: "1,000 awaited events of a session call: the last",
    unit: "ms",
    over: "awaited-modern",
    target: { atMost: 1.3 },
    ours: "ours-readme",
  },
  {
    key: "resume-awaited",
    title: "resume of that call, to the result",
    unit: "ms",
    over: "awaited-modern",
    target: { atMost: 1 },
    ours: "ours-readme",
  },
  {
    key: "timed-modern",
    title: "200 events of a modern call with a zero timer between them: the last",
    unit: "ms",
    ours: "ours-readme",
  },
  {
    key: "timed",
    title: "the same of a session call",
    unit: "ms",
    target: { atMost: 20 },
    ours: "ours-readme",
  },
  { key: "connect-sdk-1", title: "connect and list with SDK 1.32", unit: "ms", ours: "ours-readme" },
  { key: "connect-client-2", title: "connect and list with client 2.4", unit: "ms", ours: "ours-readme" },
  {
    key: "wake",
    title: "first call after eviction",
    unit: "ms",
    floor: "floor-do",
    target: { atMost: 1.3 },
    ours: "ours-readme",
  },
  {
    key: "start",
    title: "process start to first answer",
    unit: "ms",
    floor: "floor",
    target: { atMost: 2.2 },
    ours: "ours-readme",
  },
  {
    key: "start-zod",
    title: "the same over a floor that builds the same zod schemas",
    unit: "ms",
    floor: "floor-zod",
    target: { atMost: 1.15 },
    ours: "ours-readme",
  },
  {
    key: "start-bare",
    title: "the same of one tool without a schema library",
    unit: "ms",
    floor: "floor",
    target: { atMost: 1.3 },
    ours: "ours",
  },
  {
    key: "bundle",
    title: "bundle, min+gzip, zod included",
    unit: "KiB",
    target: { atMost: 94 },
    ours: "ours-readme",
  },
  { key: "memory", title: "memory per idle session", unit: "KiB", target: { atMost: 30 }, ours: "ours-readme" },
  { key: "disk", title: "disk per idle session", unit: "KiB", target: { atMost: 0 }, ours: "ours-readme" },
  {
    key: "object-requests",
    title: "object requests per session call",
    unit: "",
    target: { atMost: 1 },
    ours: "ours-readme",
  },
  { key: "rows", title: "rows written per session call", unit: "", target: { atMost: 0 }, ours: "ours-readme" },
];
