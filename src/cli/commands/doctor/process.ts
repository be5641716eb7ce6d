/**
 * The steps for a server that is started by a command.
 *
 * @module
 */
import { type Client, type ClientOptions, connect } from "../../../client/index.ts";
import { McpError } from "../../../core/protocol/errors.ts";
import { findSpoken } from "../../../core/protocol/spoken-versions.ts";
import { formatError } from "../../exit.ts";
import { closeInTime } from "../../server/connection.ts";
import type { Opened } from "../../server/open-target.ts";
import { redactText } from "../../terminal/redact.ts";
import { untilInterrupted } from "../../terminal/signals.ts";
import { addNotCalled, checkCall } from "./call.ts";
import type { Diagnosis, FindingInput } from "./diagnosis.ts";
import { isExchange } from "./exchange.ts";
import { checkLists, type Declared, type RequestPage } from "./lists.ts";
import { Steps } from "./steps.ts";

/** Starts the server, reads its lists, and ends it. */
export async function checkProcess(
  opened: Opened,
  call: string | undefined,
  diagnosis: Diagnosis,
  signal: AbortSignal,
): Promise<void> {
  let client: Client | undefined;
  let isMixed = false;
  const onEvent: ClientOptions["onEvent"] = (event) => {
    isMixed ||= event.type === "warning" && event.message === "A line is not JSON.";
  };
  try {
    diagnosis.reached = "handshake";
    client = await untilInterrupted(connect(opened.target, { ...opened.options, onEvent }), signal);
    diagnosis.isOpen = true;
    const steps = new Steps(diagnosis, signal, () => undefined);
    const connected = client;
    await steps.run("lists", () => untilInterrupted(checkOffered(connected, opened, call, diagnosis, signal), signal));
    if (call !== undefined && !diagnosis.isCallChecked) addNotCalled(call, diagnosis);
  } catch (error) {
    signal.throwIfAborted();
    diagnosis.add(explainStart(opened, error));
  } finally {
    await closeInTime(client, opened.transport);
  }
  if (!isMixed) return;
  diagnosis.add({
    id: "output-mixed",
    step: "handshake",
    severity: "degrades",
    fault: "server",
    what: "The server writes lines to standard output that are not JSON, which some hosts report as errors.",
    fix: "Write logs to standard error. With console.log, use console.error.",
  });
}

/** Checks the lists as over HTTP, and calls the tool that the user named. */
async function checkOffered(
  client: Client,
  opened: Opened,
  call: string | undefined,
  diagnosis: Diagnosis,
  signal: AbortSignal,
): Promise<void> {
  const { capabilities, info, instructions, protocolVersion } = client.server;
  const request: RequestPage = async (method, params) => {
    try {
      const result = await client.request(method, params, { signal });
      return { answer: { failure: "result-invalid", message: "the result has no list" }, result };
    } catch (error) {
      signal.throwIfAborted();
      const failure = McpError.is(error) ? String(error.code) : "failed";
      return { answer: { failure, message: redactText(formatError(opened.explain(error))) }, result: undefined };
    }
  };
  const isModern = findSpoken(protocolVersion)?.era === "modern";
  const declared = { capabilities, serverName: info?.name, instructions, admitsAnyOutput: isModern };
  const { tools } = await checkLists(declared as unknown as Declared, request, diagnosis);
  diagnosis.reached = "call";
  if (call === undefined || !tools) return;
  const isListed = tools.some(({ name }) => name === call);
  const { answer, result } = isListed ? await request("tools/call", { name: call, arguments: {} }) : {};
  const failed = answer && !result && !isExchange(answer) ? answer : undefined;
  const outcome = failed ? { failure: failed.message, code: Number(failed.failure) } : { result };
  checkCall(call, tools, outcome, diagnosis);
}

/** Explains why the process could not be started, or refused the handshake. */
function explainStart(opened: Opened, error: unknown): FindingInput {
  const common = {
    step: "handshake",
    severity: "breaks",
    what: redactText(formatError(opened.explain(error))),
  } as const;
  if (McpError.is(error)) {
    const fix = "Respond to initialize with the result, for every protocol version that the client may offer.";
    return { ...common, id: "handshake-refused", fault: "server", fix };
  }
  return {
    ...common,
    id: "process-failed",
    fault: "configuration",
    fix: "Write the full path of the command, and set the variables that it needs in the configuration of the host.",
  };
}
