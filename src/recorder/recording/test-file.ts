/**
 * Formats an entry as a Vitest test that sends the same messages and expects the same responses, apart from varying values.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { newestOf } from "../../core/protocol/spoken-versions.ts";
import type { Copied } from "../api.ts";
import type { Entry } from "../entry.ts";
import { REDACTED } from "../redact/secrets.ts";
import { formatCode, formatExpectation } from "./code.ts";
import { findProblem, hasState, requestOf } from "./replayable.ts";

/** The server that the test starts. */
export type TestedServer =
  | { readonly kind: "worker"; readonly config: string; readonly environment?: string }
  | { readonly kind: "url"; readonly url: string };

export interface TestOptions {
  readonly server: TestedServer;
  /** The path of the endpoint. */
  readonly path: string;
  /** Returns an entry by its id. Used to find earlier rounds. */
  readonly find: (id: string) => Entry | undefined;
}

/** The headers that a test repeats. Other headers are specific to a client or a connection. */
const SENT = ["mcp-protocol-version", "mcp-method", "mcp-name", "accept", "content-type"];

/** Returns the test. */
export function copyAsTest(entry: Entry, options: TestOptions): Copied {
  const rounds = findRounds(entry, options.find);
  for (const round of rounds) {
    const problem = findProblem(round);
    if (problem !== undefined) return { problem };
  }
  if (!["ok", "tool-error", "error", "refused", "input-required"].includes(entry.outcome)) {
    return { problem: "Only a complete exchange can be copied as a test." };
  }
  if (entry.kind !== "request" && entry.kind !== "notification") {
    return { problem: "Only a request or a notification can be copied as a test." };
  }
  if (rounds[0] && requestOf(rounds[0]).some(hasState)) {
    return { problem: "This request continues an earlier request, which is not in the recording." };
  }
  if (entry.omitted?.messages) return { problem: "Some messages of this exchange are not recorded." };
  return { text: writeTest(entry, rounds, options) };
}

/** Returns the entries of the earlier rounds of a call, followed by the entry itself. */
function findRounds(entry: Entry, find: TestOptions["find"]): readonly Entry[] {
  const rounds = [entry];
  for (let first = entry; rounds.length < ROUNDS_MAX; ) {
    const before = first.related
      .filter(({ why }) => why === "round")
      .map(({ id }) => find(id))
      .find(
        (found) => found && found.startedAtMs <= first.startedAtMs && found.id !== first.id && !rounds.includes(found),
      );
    if (!before || !requestOf(first).some(hasState)) break;
    rounds.unshift(before);
    first = before;
  }
  return rounds;
}

const ROUNDS_MAX = 20;

function writeTest(entry: Entry, rounds: readonly Entry[], { server, path }: TestOptions): string {
  const isSession = entry.session !== undefined && entry.method !== "initialize";
  const what = [entry.method ?? entry.kind, entry.target].filter(Boolean).join(" ");
  const by = entry.client ? ` by ${entry.client.name} ${entry.client.version}`.trimEnd() : "";
  const isWorker = server.kind === "worker";
  const url = isWorker ? `worker.url(${formatCode(path)})` : "URL_OF_SERVER";
  const sent = rounds.flatMap((round, index) => writeRound(round, index, { url, isSession }));
  const lines = [
    `import { ${isWorker ? "openStream, startWorker" : "openStream"} } from "mcp-edge/testing";`,
    'import { expect, test } from "vitest";',
    "",
    ...(isWorker ? [] : [`const URL_OF_SERVER = process.env.MCP_URL ?? ${formatCode(server.url)};`, ""]),
    `// Recorded on ${new Date(entry.startedAtMs).toISOString().slice(0, 10)}:${toComment(`${by} ${entry.version ?? ""}`)}`,
    `test(${formatCode(`${what}: ${entry.outcome}`)}, { timeout: 60_000 }, async () => {`,
    ...(isWorker ? [`  await using worker = await startWorker(${formatCode(workerOptions(server))});`] : []),
    ...(isSession ? writeOpening(entry, url) : []),
    ...sent,
    "});",
    "",
  ];
  return lines.join("\n");
}

/** Returns a string as the text of a line comment, without line terminators. */
function toComment(text: string): string {
  return ` ${text.replace(/[\p{Cc}\u2028\u2029]/gu, " ").trim()}`;
}

function workerOptions({ config, environment }: TestedServer & { readonly kind: "worker" }): JsonObject {
  return { wrangler: config, ...(environment === undefined ? {} : { environment }) };
}

/** Opens a session with the same version. It declares all capabilities, because the client's are not recorded with each call. */
function writeOpening(entry: Entry, url: string): string[] {
  const { version = newestOf("legacy"), client } = entry;
  const params = {
    protocolVersion: version,
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
    clientInfo: { name: client?.name || "test", version: client?.version || "1.0.0" },
  };
  const body = { jsonrpc: "2.0", id: 0, method: "initialize", params };
  return [
    `  const opened = await openStream(${url}, {`,
    `    body: ${indent(formatCode(body), 4)},`,
    ...tokenLine(entry, "    headers: { ", " },"),
    "  });",
    "  await opened.end();",
    `  const session = { "Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": ${formatCode(version)} };`,
    `  await (await openStream(${url}, { body: { jsonrpc: "2.0", method: "notifications/initialized" }, headers: session })).end();`,
  ];
}

function tokenLine(entry: Entry, before: string, after: string): string[] {
  const isSent = entry.request?.headers.some(
    ([name, value]) => name.toLowerCase() === "authorization" && value === REDACTED,
  );
  return isSent ? [`${before}Authorization: \`Bearer \${process.env.TOKEN}\`${after}`] : [];
}

function writeRound(
  entry: Entry,
  index: number,
  { url, isSession }: { readonly url: string; readonly isSession: boolean },
): string[] {
  const name = index === 0 ? "answer" : `answer${index + 1}`;
  const before = index === 1 ? "answer" : `answer${index}`;
  const messages = requestOf(entry);
  const body = messages.length === 1 ? messages[0] : messages;
  const headers = (entry.request?.headers ?? []).filter(([header]) => SENT.includes(header.toLowerCase()));
  const shown = isSession ? headers.filter(([header]) => header.toLowerCase() !== "mcp-protocol-version") : headers;
  const state = hasState(body)
    ? `(${before}.messages.at(-1) as { result: { requestState: string } }).result.requestState`
    : undefined;
  return [
    `  const ${name} = await openStream(${url}, {`,
    `    body: ${indent(formatCode(body, state), 4)},`,
    "    headers: {",
    ...(isSession ? ["      ...session,"] : []),
    ...tokenLine(entry, "      ", ","),
    ...shown.map(([header, value]) => `      ${formatCode(header)}: ${formatCode(value)},`),
    "    },",
    "  });",
    ...writeAnswers(entry, name, url),
    `  await ${name}.end();`,
    ...(entry.http?.status === undefined ? [] : [`  expect(${name}.status).toBe(${entry.http.status});`]),
    `  expect(${name}.messages).toEqual(${indent(formatExpectation(answersOf(entry)), 2)});`,
  ];
}

/** Returns the messages of the server in order. */
function answersOf(entry: Entry): readonly unknown[] {
  return entry.messages.flatMap(({ from, message }) => (from === "server" ? [message] : []));
}

/** Repeats the client's answers to the questions that the server asked during a call. */
function writeAnswers(entry: Entry, name: string, url: string): string[] {
  const asked = entry.messages.flatMap(({ from, message }) => {
    return from === "server" && isObject(message) && "method" in message && "id" in message ? [message] : [];
  });
  const request = requestOf(entry).length;
  const answers = entry.messages
    .slice(request)
    .flatMap(({ from, message }) => (from === "client" && isObject(message) ? [message] : []));
  return asked.flatMap((question, index) => {
    const answer = answers.find(({ id }) => id === question.id);
    if (!answer) return [];
    const { jsonrpc: _, id: __, ...content } = answer;
    const variable = `question${index + 1}`;
    const method = formatCode(question.method);
    return [
      `  await ${name}.waitFor(${method}, ({ messages }) => messages.filter((each) => "method" in Object(each) && "id" in Object(each)).length > ${index});`,
      `  const ${variable} = ${name}.messages.filter((each) => "method" in Object(each) && "id" in Object(each))[${index}] as { id: string };`,
      `  await (await openStream(${url}, {`,
      `    body: { jsonrpc: "2.0", id: ${variable}.id, ...${indent(formatCode(content), 4)} },`,
      "    headers: session,",
      "  })).end();",
    ];
  });
}

function indent(text: string, spaces: number): string {
  return text.replaceAll("\n", `\n${" ".repeat(spaces)}`);
}
