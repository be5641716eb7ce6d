/**
 * The report at the end: what is left to do, and which differences in behaviour affect the project.
 *
 * @module
 */
import type { Outcome } from "./migrate.ts";
import { clean, type Paint } from "./terminal.ts";
import type { Topic } from "./unit.ts";

/** The differences in behaviour, by topic. */
const DIFFERENCES: Readonly<Record<Topic, string>> = {
  sessions:
    "Session ids have another form, and sessions of the old server end: clients open new ones by themselves. Handlers have no session id.",
  state:
    "Classes that keep state in their agent were not changed: such data belongs in your own Durable Object or in D1, by user instead of by session.",
  storage:
    "Sessions are stored in objects of the class McpObject. What the objects of the old class stored is not read.",
  errors:
    "An exception that is not a ToolError or an McpError reaches the client as a general message with a reference; the log has the details. An McpError in a tool is an error of the request, and not a result with isError. Messages of errors differ, and so does the code for an unknown resource in some versions.",
  thrown:
    "`throw new Error(...)` in tools, and in the functions that they call, became `throw new ToolError(...)`, so that the model still reads the message.",
  schemas:
    "JSON Schemas of tools are written in draft 2020-12, without $schema and execution, and argument errors have another text. Arguments that a schema does not list are dropped, as before.",
  http: "edge() checks Host and Origin, serves /mcp or the given path, and closes nothing by itself. CORS needs the option allowedOrigins. On Node there are no sessions; durable() provides them on Workers.",
  sse: "HTTP+SSE needs durable() on Workers: the endpoint serves it at its one URL, and the paths /sse and /messages are gone.",
  props: "Props are ctx.auth.claims, and the principal (issuer and subject) binds sessions to their user.",
  capabilities: "Capabilities follow from the definitions: one that nothing is defined for is not announced.",
  questions:
    "Questions (elicit, sample, listRoots) also work for clients of 2026-07-28: the handler then runs again from the top, so effects before a question belong in ctx.step(). An invalid answer throws a QuestionError.",
  initialized:
    "Modern clients do not report that they are initialized, so what oninitialized did now runs before the first call of a handler.",
  stdio: "serveStdio() resolves when the input has ended.",
};

/** Returns the lines of the report. */
export function reportLines(
  { changes, todos, topics, skipped }: Outcome,
  unread: Outcome["skipped"],
  paint: Paint,
): string[] {
  const lines = [
    paint.bold(
      `${changes.length} ${changes.length === 1 ? "file changes" : "files change"}, ${todos.length} ${todos.length === 1 ? "note" : "notes"} TODO(mcp-edge)`,
    ),
  ];
  for (const { path, line, text } of todos) lines.push(`${paint.yellow(`  ${path}:${line}`)} ${clean(text)}`);
  for (const { path, reason } of [...skipped, ...unread]) lines.push(paint.dim(`  not changed: ${path}: ${reason}`));
  if (topics.size > 0) lines.push("", paint.bold("What behaves differently:"));
  for (const topic of topics) lines.push(`  - ${DIFFERENCES[topic]}`);
  return lines;
}
