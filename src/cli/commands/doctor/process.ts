/**
 * The steps for a server that is started by a command.
 *
 * @module
 */
import { type Client, type ClientOptions, connect } from "../../../client/index.ts";
import { formatError } from "../../exit.ts";
import { describeSize, findExceeded } from "../../host-profiles/find-limits.ts";
import { closeInTime } from "../../server/connection.ts";
import type { Opened } from "../../server/open-target.ts";
import { redactText } from "../../terminal/redact.ts";
import { untilInterrupted } from "../../terminal/signals.ts";
import { checkCall } from "./call.ts";
import type { Diagnosis } from "./diagnosis.ts";

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
    diagnosis.reached = "lists";
    await untilInterrupted(checkLists(client, call, diagnosis, signal), signal);
  } catch (error) {
    signal.throwIfAborted();
    const isStarted = client !== undefined;
    diagnosis.add({
      id: isStarted ? "tools-failed" : "process-failed",
      step: isStarted ? "lists" : "handshake",
      severity: "breaks",
      fault: isStarted ? "server" : "configuration",
      what: redactText(formatError(opened.explain(error))),
      fix: isStarted
        ? "Return the lists of all capabilities that the server declares."
        : "Write the full path of the command, and set the variables that it needs in the configuration of the host.",
    });
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

async function checkLists(
  client: Client,
  call: string | undefined,
  diagnosis: Diagnosis,
  signal: AbortSignal,
): Promise<void> {
  const { capabilities, info, instructions } = client.server;
  const tools = capabilities.tools ? await client.tools({ signal }).all() : [];
  if (capabilities.prompts) await client.prompts({ signal }).all();
  if (capabilities.resources) await client.resources({ signal }).all();
  diagnosis.toolsSize = describeSize(tools);
  for (const each of findExceeded({ tools, instructions, serverName: info?.name })) {
    diagnosis.add({ ...each, step: "limits", fault: "host" });
  }
  diagnosis.reached = "call";
  if (call === undefined) return;
  try {
    const result = tools.some(({ name }) => name === call) ? await client.callTool(call, {}, { signal }) : undefined;
    checkCall(call, tools, { result }, diagnosis);
  } catch (error) {
    signal.throwIfAborted();
    checkCall(call, tools, { failure: redactText(formatError(error)) }, diagnosis);
  }
}
