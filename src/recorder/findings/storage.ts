/**
 * Finds faults of storage: one statement for each item of a list, reads of many rows, and writes by read-only tools.
 *
 * @module
 */
import type { LiveSpan } from "../assemble/live-invocation.ts";
import type { Finding } from "../entry.ts";
import { describeSpan, type Examined, isAuthorWork, placeOf } from "./examined.ts";

/** Spans that query a store, an object or another server. */
const QUERIES = /^(?:exec|kv_get|get|d1_\w+|r2_get|object|fetch)$/;

/** Finds repeated statements, reads and calls in one invocation, which probably run once for each item of a list. */
export function findRepeatedOperations({ entry, thresholds }: Examined): Finding[] {
  return entry.invocations.flatMap((invocation) => {
    const groups = new Map<string, { count: number; rows: number; readonly span: LiveSpan }>();
    for (const span of invocation.spans) {
      if (!QUERIES.test(span.name) || !isAuthorWork(span, invocation)) continue;
      const key = keyOf(span);
      const group = groups.get(key) ?? { count: 0, rows: 0, span };
      group.count += 1;
      group.rows += (span.rowsRead ?? 0) + (span.rowsWritten ?? 0);
      groups.set(key, group);
    }
    return [...groups.values()]
      .filter(({ count }) => count >= thresholds.equalStatements)
      .map(({ count, rows, span }) => ({
        what: `Repeated ${count} times: ${describeGroup(span)}`,
        where: placeOf(invocation),
        why: `It probably runs once for each item of a list${rows > 0 ? `, and uses ${rows} rows` : ""}. Request all items at once.`,
      }));
  });
}

/** Returns the key of a group. It ignores the literals of statements, the keys of reads and the paths of URLs. */
function keyOf({ name, text = "", table }: LiveSpan): string {
  if (name === "exec" || name.startsWith("d1_")) return `${name} ${text.replace(/'[^']*'|\b\d+\b/g, "?")}`;
  if (name === "fetch") return `${name} ${hostOf(text)}`;
  return `${name} ${name === "object" ? text : (table ?? "")}`;
}

function describeGroup(span: LiveSpan): string {
  if (span.name === "object") return `a call to an object, ${span.text ?? ""}`;
  if (span.name === "fetch") return `a request to ${hostOf(span.text ?? "")}`;
  return describeSpan(span);
}

function hostOf(text: string): string {
  return /https?:\/\/([^/\s]+)/.exec(text)?.[1] ?? text;
}

/** Finds statements that read many rows. */
export function findUnboundedReads({ entry, thresholds }: Examined): Finding[] {
  const found = entry.invocations.flatMap((invocation) =>
    invocation.spans
      .filter(({ rowsRead = 0 }) => rowsRead >= thresholds.rowsOfStatement)
      .map((span) => ({
        what: `One statement read ${span.rowsRead} rows: ${describeSpan(span)}`,
        where: span.table === undefined ? placeOf(invocation) : `table ${span.table}, ${placeOf(invocation)}`,
        why: "Cloudflare bills rows read, and each call reads more as the table grows. Add a LIMIT, or an index for the condition.",
      })),
  );
  return found.slice(0, SAME_MAX);
}

/** The maximum number of findings of one kind in an entry. */
const SAME_MAX = 10;

/** Spans that write to a store or a queue. */
const WRITES = /^(?:kv_put|kv_delete|put|delete|deleteAll|r2_put|r2_delete|queue_send\w*)$/;

/** Finds writes by a tool that is annotated as read-only. */
export function findReadOnlyWrites({ entry, tool }: Examined): Finding[] {
  if (entry.facts.method !== "tools/call" || !tool?.isReadOnly) return [];
  const written = entry.invocations.flatMap((invocation) => {
    return invocation.spans
      .filter((span) => isAuthorWork(span, invocation) && ((span.rowsWritten ?? 0) > 0 || WRITES.test(span.name)))
      .map((span) => ({ invocation, span }));
  });
  const [first] = written;
  if (!first) return [];
  return [
    {
      what: `The tool has readOnlyHint but writes data: ${describeSpan(first.span)}`,
      where: placeOf(first.invocation),
      why: "Hosts can call such a tool without asking the user. Remove the hint or the write.",
    },
  ];
}
