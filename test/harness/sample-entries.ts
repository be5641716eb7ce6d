/** Recorded calls as the recorder would make them, for tests of the page. */
import type { Entry, Mark, Span } from "../../src/recorder/entry.ts";
import { NO_COUNTS } from "./recorder-stub.ts";

type Unsaved = Omit<Entry, "seq">;

const START_MS = Date.UTC(2026, 10, 26, 9, 0, 0);

const CLIENTS = [
  { name: "claude-ai", version: "1.4.0" },
  { name: "cursor-vscode", version: "2.1.0" },
  { name: "mcp-edge page", version: "0.1.0" },
  { name: "codex-mcp-client", version: "0.98.0" },
] as const;

const CALLS: readonly (readonly [
  method: string,
  target: string | undefined,
  outcome: Entry["outcome"],
  ms: number,
  marks: readonly Mark[],
])[] = [
  ["tools/call", "get_forecast", "ok", 38, []],
  ["tools/call", "book_pickup", "input-required", 12, ["question"]],
  ["tools/call", "book_pickup", "ok", 61, ["replay"]],
  ["tools/list", undefined, "ok", 3, []],
  ["tools/call", "export_ledger", "tool-error", 1_840, ["slow", "progress"]],
  ["resources/read", "northwind://tariffs", "ok", 7, []],
  ["tools/call", "search_shipments", "ok", 214, ["suspicious"]],
  ["prompts/get", "delay_notice", "ok", 5, []],
  ["tools/call", "track_shipment", "cut-by-client", 3_020, ["progress"]],
  ["tools/call", "cancel_pickup", "error", 9, ["exception"]],
];

/** An entry of a list with many. @param number From 1 on. */
export function sampleEntry(number: number): Unsaved {
  const [method, target, outcome, ms, marks] = CALLS[number % CALLS.length] as (typeof CALLS)[number];
  const isLegacy = number % 3 === 0;
  return {
    id: String(number),
    startedAtMs: START_MS + number * 733,
    ms,
    kind: "request",
    http: { method: "POST", path: "/mcp", status: outcome === "error" ? 500 : 200 },
    client: CLIENTS[number % CLIENTS.length] as (typeof CLIENTS)[number],
    version: isLegacy ? "2025-11-25" : "2026-07-28",
    era: isLegacy ? "legacy" : "modern",
    method,
    ...(target && { target }),
    ...(isLegacy && { session: "9f31c2aa" }),
    outcome,
    ...(outcome === "error" && { outcomeText: "-32603 Internal error, reference 5f0c" }),
    counts: { ...NO_COUNTS, objectRequests: isLegacy ? 1 : 0, rowsWritten: number % 4 },
    dollarsPerMillion: 0.3 + (number % 4),
    marks,
    messages: [],
    invocations: [],
    related: [],
    findings: [],
  };
}

/** An entry with everything that an opened one shows: a call of a session that asks, reads rows one by one, and logs. */
export function richEntry(id: string): Unsaved {
  const at = (ms: number) => START_MS + ms;
  const statement = (ms: number, text: string, more: Partial<Span>): Span => ({
    name: "exec",
    startedAtMs: at(ms),
    endedAtMs: at(ms + 1),
    text,
    ...more,
  });
  const reads = Array.from({ length: 24 }, (_, row) =>
    statement(48 + row * 4, "SELECT weight FROM parcels WHERE id = ?", { table: "parcels", rowsRead: 1 }),
  );
  return {
    ...sampleEntry(6),
    id,
    startedAtMs: START_MS,
    ms: 214,
    era: "legacy",
    version: "2025-11-25",
    session: "9f31c2aa",
    principal: "51bd07e3",
    counts: { objectRequests: 2, messages: 3, rowsRead: 27, rowsWritten: 4, alarmsSet: 1, alarmsRun: 0, wakeUps: 1 },
    dollarsPerMillion: 4.63,
    marks: ["question", "suspicious", "log"],
    request: {
      headers: [
        ["Content-Type", "application/json"],
        ["Authorization", "<token, 812 characters>"],
        ["Mcp-Session-Id", "<session 9f31c2aa>"],
      ],
    },
    response: { headers: [["Content-Type", "text/event-stream"]] },
    messages: [
      {
        atMs: at(0),
        from: "client",
        message: {
          jsonrpc: "2.0",
          id: 4,
          method: "tools/call",
          params: { name: "search_shipments", arguments: { query: "<text, 9 characters>" } },
        },
      },
      {
        atMs: at(31),
        from: "server",
        eventId: "a1",
        message: { jsonrpc: "2.0", method: "notifications/progress", params: { progress: 0, total: 24 } },
      },
      {
        atMs: at(160),
        from: "server",
        eventId: "a2",
        message: {
          jsonrpc: "2.0",
          id: "q1",
          method: "elicitation/create",
          params: { message: "<text, 22 characters>" },
        },
      },
      { atMs: at(188), from: "client", message: { jsonrpc: "2.0", id: "q1", result: { action: "accept" } } },
      {
        atMs: at(213),
        from: "server",
        eventId: "a3",
        message: { jsonrpc: "2.0", id: 4, result: { content: [{ type: "text", text: "<text, 311 characters>" }] } },
      },
    ],
    invocations: [
      {
        id: "w1",
        place: "worker",
        cause: "fetch",
        startedAtMs: at(2),
        endedAtMs: at(214),
        outcome: "ok",
        status: 200,
        spans: [{ name: "fetch", startedAtMs: at(150), endedAtMs: at(158), text: "https://rates.example/v1" }],
        logs: [],
        exceptions: [],
      },
      {
        id: "o1",
        parent: "w1",
        place: "object",
        className: "McpObject",
        object: "51bd07e3",
        role: "session",
        cause: "fetch",
        woken: true,
        startedAtMs: at(8),
        endedAtMs: at(212),
        outcome: "ok",
        spans: [
          statement(12, "SELECT * FROM streams WHERE id = ?", { table: "streams", rowsRead: 1 }),
          statement(30, "INSERT INTO events (stream, frames) VALUES (?, ?)", { table: "events", rowsWritten: 2 }),
          ...reads,
          { name: "setAlarm", startedAtMs: at(205), dueAtMs: at(3_600_000), rowsWritten: 1 },
        ],
        logs: [{ atMs: at(46), level: "warn", text: "24 parcels, one query each" }],
        exceptions: [],
      },
      {
        id: "o2",
        parent: "w1",
        place: "object",
        className: "McpObject",
        object: "c04d11fe",
        role: "hub",
        cause: "jsrpc",
        method: "publish",
        startedAtMs: at(198),
        endedAtMs: at(203),
        outcome: "ok",
        spans: [statement(199, "SELECT peer FROM listeners", { table: "listeners", rowsRead: 2 })],
        logs: [],
        exceptions: [
          {
            atMs: at(201),
            name: "TypeError",
            message: "Cannot read properties of undefined (reading 'peer')",
            reference: "5f0c",
          },
        ],
      },
    ],
    related: [{ id: "3", why: "answer" }],
    findings: [
      {
        what: "24 statements of one form ran in one invocation.",
        where: "session 51bd07e3: SELECT weight FROM parcels WHERE id = ?",
        why: "Each costs a row and a round. Read all rows with one statement: WHERE id IN (...).",
      },
    ],
  };
}
