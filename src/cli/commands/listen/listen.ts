/**
 * `mcp-edge listen`: prints the notifications of a server.
 *
 * @module
 */
import type { ClientOptions, LoggingLevel, LogMessage } from "../../../client/index.ts";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { Exit } from "../../exit.ts";
import { withClient } from "../../server/connection.ts";
import { formatLog } from "../../terminal/questions.ts";
import { oneLine, type Terminal, toJson } from "../../terminal/terminal.ts";
import type { ListenOptions } from "./options.ts";

/** Runs the command and returns its exit code. */
export function listenTo(server: string, uris: readonly string[], options: ListenOptions): Promise<number> {
  const { count = Number.POSITIVE_INFINITY, json = false, level } = options;
  let left = count;
  let finish = () => {};
  let fail = (_reason: unknown) => {};
  const finished = new Promise<void>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  // The connection may be lost before `finished` is awaited.
  finished.catch(() => undefined);
  const handlers = (terminal: Terminal) =>
    printers((method, params, text) => {
      if (left <= 0) return;
      left -= 1;
      terminal.print(json ? toJson({ method, params }) : text);
      if (left === 0) finish();
    });
  return withClient(server, options, handlers, async ({ client, terminal, signal, lost }) => {
    lost.addEventListener("abort", () => fail(lost.reason));
    if (lost.aborted) fail(lost.reason);
    if (level !== undefined) await client.setLevel(level as LoggingLevel, { signal });
    for (const uri of uris) await client.subscribe(uri, { signal });
    terminal.note(terminal.err.dim("Listening. Press Ctrl-C to exit."));
    await finished;
    return Exit.ok;
  });
}

type Printer = (method: string, params: JsonObject, text: string) => void;

/** Returns handlers for every kind of notification. */
function printers(print: Printer): Partial<ClientOptions> {
  const changed = (what: string) => () =>
    print(`notifications/${what}/list_changed`, {}, `The ${what} may have changed.`);
  return {
    onToolsChanged: changed("tools"),
    onPromptsChanged: changed("prompts"),
    onResourcesChanged: changed("resources"),
    onResourceUpdated: (uri) =>
      print("notifications/resources/updated", { uri }, `${oneLine(uri, 500)} may have changed.`),
    onLog: (message: LogMessage) => print("notifications/message", { ...message }, formatLog(message)),
    onNotification: (method, params) =>
      print(method, params, `${oneLine(method)} ${oneLine(JSON.stringify(params), 1_000)}`),
  };
}
