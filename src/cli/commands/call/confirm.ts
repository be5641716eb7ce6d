/**
 * Asks for confirmation before a call that may be destructive.
 *
 * @module
 */
import type { Tool } from "../../../client/index.ts";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { CliError, Exit, usageError } from "../../exit.ts";
import { oneLine, type Terminal, toJson } from "../../terminal/terminal.ts";

/**
 * Whether a tool may delete or overwrite data. Without annotations, this must be assumed.
 *
 * @see MCP 2026-07-28, schema, "ToolAnnotations"
 */
export function mayDestroy({ annotations }: Pick<Tool, "annotations">): boolean {
  return annotations?.readOnlyHint !== true && annotations?.destructiveHint !== false;
}

/** Returns the reason if the tool lacks annotations, so that its author can add them. */
function reason({ annotations }: Tool): string {
  return annotations?.destructiveHint === true ? "" : " (its annotations do not say that it only reads, or only adds)";
}

/**
 * Shows the arguments of a call, and asks whether to run it.
 *
 * @throws {CliError} if the user refuses or cannot be asked.
 */
export async function confirmCall(
  tool: Tool,
  args: JsonObject,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  if (!terminal.canAsk) {
    const text = `${oneLine(tool.name)} may delete or overwrite data${reason(tool)}, and there is no terminal to ask in.`;
    throw usageError(`${text} Add --yes to run it.`);
  }
  terminal.note(`${terminal.err.bold(oneLine(tool.name))} ${toJson(args, 2)}`);
  const { askYesNo } = await import("../../terminal/ask.ts");
  const isAgreed = await askYesNo("This tool may delete or overwrite data. Run it?", signal);
  if (!isAgreed) throw new CliError(Exit.cancelled, "The tool was not called.");
}
