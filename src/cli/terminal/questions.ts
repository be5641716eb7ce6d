/**
 * Lets the user answer a server's questions in the terminal. Without a terminal, the client does not declare that it can answer any.
 *
 * @module
 */
import type {
  ClientOptions,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitAnswer,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  LogMessage,
  SamplingContent,
} from "../../client/index.ts";
import { findSecretFields } from "../../core/ask/secret-fields.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { McpError } from "../../core/protocol/errors.ts";
import { openBrowser } from "../../node/index.ts";
import { withMore } from "../exit.ts";
import { counted, oneLine, quoted, type Terminal } from "./terminal.ts";

/** The error code for a request that the user refused. @see MCP 2025-11-25, client/sampling, "Error Handling" */
const REFUSED = -1;

/** Returns handlers for questions and log messages. @param server The name by which the user called the server. */
export function handlersFor(terminal: Terminal, signal: AbortSignal, server: string): Partial<ClientOptions> {
  const onLog = (message: LogMessage) => terminal.note(terminal.err.dim(formatLog(message)));
  if (!terminal.canAsk) return { onLog };
  const queue = new Queue(terminal);
  const both = (other: AbortSignal) => AbortSignal.any([signal, other]);
  return {
    onLog,
    onElicit: (form, context) => queue.run(() => answerForm(form, { terminal, server, signal: both(context.signal) })),
    onElicitUrl: (page, context) =>
      queue.run(() => answerUrl(page, { terminal, server, signal: both(context.signal) })),
    onSample: (request, context) =>
      queue.run(() => answerSample(request, { terminal, server, signal: both(context.signal) })),
  };
}

/** Adds to an error why the server could not ask its question: there is no terminal. */
export function explainUnasked(error: unknown, { canAsk }: Terminal): unknown {
  if (canAsk || !McpError.is(error) || error.code !== ErrorCode.MissingRequiredClientCapability) return error;
  return withMore(
    error,
    "The server needs to ask you a question, but standard input or standard error is not a terminal.",
  );
}

/** Formats a server's log message as one line. */
export function formatLog({ level, logger, data }: LogMessage): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `[${oneLine(level)}]${logger === undefined ? "" : ` ${oneLine(logger)}:`} ${oneLine(text, 1_000)}`;
}

/** Asks questions one at a time, because they share one terminal. */
class Queue {
  readonly #terminal: Terminal;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  async run<T>(ask: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    this.#terminal.suspendStatus(true);
    const asked = this.#last.then(ask);
    this.#last = asked.catch(() => undefined);
    try {
      return await asked;
    } finally {
      this.#waiting -= 1;
      this.#terminal.suspendStatus(this.#waiting > 0);
    }
  }
}

/** The arguments that all functions for answering questions need. */
interface Asking {
  readonly terminal: Terminal;
  readonly server: string;
  readonly signal: AbortSignal;
}

async function answerForm(form: ElicitRequestFormParams, { terminal, server, signal }: Asking): Promise<ElicitAnswer> {
  const [{ askChoice }, { fillIn }] = await Promise.all([import("./ask.ts"), import("./form.ts")]);
  terminal.note(`\n${terminal.err.bold(`${oneLine(server)} asks:`)}\n${quoted(form.message)}`);
  const secrets = findSecretFields(form.requestedSchema);
  if (secrets.length > 0) {
    const names = secrets.map((name) => oneLine(name)).join(", ");
    terminal.note(terminal.err.yellow(`Do not enter a password or another secret here. The form asks for: ${names}`));
  }
  const action = await askChoice(`Do you want to answer ${oneLine(server)}?`, ANSWERS, signal);
  if (action !== "accept") return { action: action ?? "cancel" };
  const content = await fillIn(form, server, signal);
  return content === undefined ? { action: "cancel" } : { action, content };
}

const ANSWERS = [
  { value: "accept", label: "Answer" },
  { value: "decline", label: "Decline" },
] as const;

async function answerUrl(
  page: ElicitRequestURLParams,
  { terminal, server, signal }: Asking,
): Promise<Pick<ElicitAnswer, "action">> {
  const { askChoice } = await import("./ask.ts");
  terminal.note(`\n${terminal.err.bold(`${oneLine(server)} asks you to visit a page:`)}\n${quoted(page.message)}`);
  const { href, host, protocol } = URL.canParse(page.url) ? new URL(page.url) : { href: "", host: "", protocol: "" };
  if (protocol !== "https:" && protocol !== "http:") {
    terminal.note(terminal.err.red(`The address ${oneLine(page.url, 500)} is not a web page. It was declined.`));
    return { action: "decline" };
  }
  // The normalized address contains no spaces, so it cannot imitate a message of this program.
  terminal.note(`${oneLine(href, 2_000)}\n${terminal.err.dim("Host:")} ${terminal.err.bold(oneLine(host))}`);
  const choice = await askChoice(`Do you want to visit it for ${oneLine(server)}?`, PAGES, signal);
  if (choice === "open") await openBrowser(page.url);
  if (choice === undefined) return { action: "cancel" };
  return { action: choice === "decline" ? "decline" : "accept" };
}

const PAGES = [
  { value: "open", label: "Open it in the browser" },
  { value: "self", label: "I will open it myself" },
  { value: "decline", label: "Decline" },
] as const;

/** The maximum number of messages shown from a sampling request. */
const MESSAGES_MAX = 10;

async function answerSample(
  request: CreateMessageRequestParams,
  { terminal, server, signal }: Asking,
): Promise<CreateMessageResult> {
  const { askText } = await import("./ask.ts");
  const { err } = terminal;
  const { systemPrompt, messages, maxTokens } = request;
  const limit = typeof maxTokens === "number" ? `at most ${maxTokens} tokens` : "an answer";
  const earlier = messages.length - MESSAGES_MAX;
  terminal.note(`\n${err.bold(`${oneLine(server)} asks a model for ${limit}:`)}`);
  if (systemPrompt !== undefined) terminal.note(quoted(`system: ${systemPrompt}`));
  if (earlier > 0) terminal.note(err.dim(`(${counted(earlier, "earlier message")})`));
  for (const { role, content } of messages.slice(-MESSAGES_MAX)) {
    terminal.note(quoted(`${oneLine(role)}: ${[content].flat().map(formatContent).join("\n")}`));
  }
  const text = await askText(`Write the model's answer for ${oneLine(server)}. Press Escape to decline.`, signal);
  if (text === undefined) throw new McpError(REFUSED, "The user declined the sampling request.");
  return { role: "assistant", content: { type: "text", text }, model: "human", stopReason: "endTurn" };
}

function formatContent(content: SamplingContent): string {
  return content.type === "text" ? content.text : `[${oneLine(content.type)}]`;
}
