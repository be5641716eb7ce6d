/** Writes docs/cost.md from counts and the published prices. */
import { dollarsPerMillion, PRICES } from "../../src/recorder/price.ts";
import type { IdleCounts } from "./idle.ts";
import type { Counted } from "./shapes.ts";
import type { SignInCounts } from "./sign-in.ts";

const DAY_SECONDS = 24 * 60 * 60;

/** A server in the document: its name, and its counts by shape. */
export interface Server {
  readonly name: string;
  readonly counts: Readonly<Record<string, Counted>>;
}

/** Returns what a million sessions of a shape cost in a day, in dollars. */
export function dollarsOf(counted: Counted): number {
  return dollarsPerMillion(counted, counted.held?.isAwake ? DAY_SECONDS : 0);
}

/** Returns the whole document. */
export function pageOf(
  servers: readonly Server[],
  shapes: readonly string[],
  signIn: SignInCounts,
  idle: IdleCounts,
): string {
  const head = ["shape", "server", "Worker requests", "object requests", "messages", "alarms", "rows read"];
  const heads = [...head, "rows written", "object in memory", "a day"];
  const lines = shapes.flatMap((shape) =>
    servers.flatMap(({ name, counts }) => {
      const found = counts[shape];
      return found ? [[shape, name, ...cellsOf(found)]] : [];
    }),
  );
  return `${INTRODUCTION}
${table([heads, heads.map(() => "---"), ...lines])}

${SIGN_IN}
${signInTable(signIn)}

${IDLE}
${idleTable(idle)}

${WAITS}
${NOTES}`;
}

function signInTable(counts: SignInCounts): string {
  const heads = [
    "with `authorizationServer()`",
    "Worker requests",
    "object requests",
    "alarms",
    "rows read",
    "rows written",
    "a million",
  ];
  const lines = Object.entries(counts).map(([what, counted]) => {
    const { workerRequests, requests, alarms, rowsRead, rowsWritten } = counted;
    return [
      what,
      ...[workerRequests, requests, alarms, rowsRead, rowsWritten].map(short),
      formatDollars(dollarsOf(counted)),
    ];
  });
  return table([heads, heads.map(() => "---"), ...lines]);
}

function idleTable(counts: IdleCounts): string {
  const heads = ["idle client", "objects", "of them in memory", "wake-ups a minute", "awake ms a minute"];
  const lines = Object.entries(counts).map(([what, { objects, inMemory, wakeUps, awakeMs }]) => {
    const wakes = Object.values(wakeUps).reduce((sum, each) => sum + each, 0);
    return [what, ...[objects, inMemory, wakes, awakeMs].map(short)];
  });
  return table([heads, heads.map(() => "---"), ...lines]);
}

function cellsOf(found: Counted): string[] {
  const { workerRequests, requests, messages, alarms, rowsRead, rowsWritten, held } = found;
  const numbers = [workerRequests, requests, messages, alarms, rowsRead, rowsWritten].map(short);
  if (held?.isRefused) return [...numbers, "-", "GET is refused"];
  return [...numbers, held?.isAwake ? "all day" : "only while it works", formatDollars(dollarsOf(found))];
}

function table(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function short(value: number): string {
  return value.toLocaleString("en-US");
}

function formatDollars(value: number): string {
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

const INTRODUCTION = `# What a million sessions a day cost

\`npm run long -- cost\` replays each usage pattern (shape) once on workerd, counts what Cloudflare bills, and writes this page. The
last column is the price of a million such sessions a day on the Workers Paid plan, in US dollars, without the amounts that are
included in the plan. All servers offer the same number of tools. A test compares the counts of mcp-edge (\`sessions()\`, \`hub()\`
and \`keys()\` with default options); the counts of a call with progress depend slightly on the machine.
`;

const SIGN_IN = `## What signing in costs

The costs of the [authorization server](guides/authorization-server.md) with default options, for a user who signs in with one
identity provider. The last column is the price of a million of each. The last alarm deletes the whole database with
\`deleteAll()\`, which is counted as zero rows, because Cloudflare's documentation does not state its cost.
`;

const IDLE = `## What an idle client costs

Since the compatibility date 2026-10-01, an object is billed while I/O is pending: timers, calls to other objects, sockets,
\`waitUntil\`. With all of \`durable()\`, \`rates()\` and the compatibility date 2026-10-20, workerd reported each invocation of an
object to a streaming tail. The objects were evicted 16 seconds after the last activity of the client, and again a minute later, which
shows whether they were in memory. Heartbeats are sent by the Worker and do not reach any object.
`;

const WAITS = `An object waits, and is billed, only in the following cases. An idle client does not cause any of them.

| object | waits for | at most |
| --- | --- | --- |
| session | a running handler, except while it waits for a person and \`replay()\` can continue it | the time limit of the handler |
| session | notifications of a handler that are stored together | 10 ms |
| session | the Worker of an HTTP+SSE stream that was interrupted, when a message arrives | 0.7 s |
| session | a Worker that confirms which notifications it forwards, when a subscription changes | 2 s |
| session, hub | each other, when a stream starts or ends or a subscription changes | one call |
| task | a run of the handler | \`runMs\`, plus the step that is then running |
| task | a change of its state, for a client of 2025-11-25 that waits with \`tasks/result\` | 25 s, then the request is repeated |
| once | nothing: callers that wait for an outcome are connected by WebSockets, with which the object hibernates | - |
| rates | the time at which its counters are stored | 1 s |
| proof, keys, user | nothing | - |
`;

const NOTES = `## What is counted

- **Prices** of Workers and Durable Objects, read on ${PRICES.readOn}: a Worker request costs $0.30 per million; a request
  to an object, or an alarm, $0.15 per million; a WebSocket message to an object a twentieth of that; rows read $0.001 and
  rows written $1.00 per million; an object in memory $12.50 per million GB-s, which is $1.60 per million seconds. Every
  month includes 10 million Worker requests, 1 million requests to objects, 50 million written rows and 400,000 GB-s.
- **Until the end of a session**: the clock is moved forward by a month, so that the alarms that delete rows, and the rows
  that they write, are counted. Clients leave without DELETE, as most clients do. Work that an isolate does once, such as
  reading its sealing keys, is not counted. Rows are counted as SQLite counts them, and tables that an object creates are rows too.
- **Progress** is reported without a pause in the handler, except for an \`await\` between two notifications. mcp-edge
  stores such notifications together. Notifications that are more than 10 ms apart are a row each.
- **A GET stream** is held open for 27 seconds, and then a ping shows whether its object has hibernated. An object in memory
  for a day costs $0.14. "Only while it works" means milliseconds for each request: 10 ms would add $0.016 per million requests.
  Cloudflare's edge closes a stream without heartbeats about every five minutes, so its client opens it 288 times a day; a stream
  with heartbeats, as in mcp-edge, stays open.
- **Not counted**: CPU time of the Worker ($0.02 per million ms) and storage ($0.20 per GB-month). A millisecond of CPU in
  each of three requests would add $0.06; the 5,760 heartbeats of a stream in a day, at 0.05 ms each, $5.76.

The other servers are configured as in \`bench/contestants\`, with the versions in the table. SDK v2 has no sessions: each of its
requests is independent, it does not send anything between requests, and a lost connection loses the call.
`;
