/**
 * The confirmation before calling a tool that may delete or overwrite something.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import type { Tool } from "../../client/index.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { JsonTree } from "../content/json-tree.tsx";
import { Dialog } from "../parts/dialog.tsx";

interface Pending {
  readonly tool: Tool;
  readonly args: JsonObject;
  decide(isAgreed: boolean): void;
}

const pending = signal<Pending | undefined>(undefined);
/** The tools for which the user has disabled the confirmation, until the page is closed. */
const trusted = new Set<string>();

/**
 * Returns whether a call may delete or overwrite something. Without hints, it may.
 *
 * @see MCP 2026-07-28, schema, "ToolAnnotations"
 */
export function mayDestroy({ annotations }: Pick<Tool, "annotations">): boolean {
  return annotations?.readOnlyHint !== true && annotations?.destructiveHint !== false;
}

/** Asks the user to confirm a call that may delete or overwrite something. Resolves with whether to make the call. */
export function confirmCall(tool: Tool, args: JsonObject): Promise<boolean> {
  if (!mayDestroy(tool) || trusted.has(tool.name)) return Promise.resolve(true);
  pending.value?.decide(false);
  return new Promise((resolve) => {
    const decide = (isAgreed: boolean) => {
      pending.value = undefined;
      resolve(isAgreed);
    };
    pending.value = { tool, args, decide };
  });
}

/** Shows the pending confirmation. */
export function Confirmation(): JSX.Element | null {
  const { value } = pending;
  if (!value) return null;
  const { tool, args, decide } = value;
  const agree = (form: HTMLFormElement) => {
    if (new FormData(form).has("trusted")) trusted.add(tool.name);
    decide(true);
  };
  return (
    <Dialog title={`Call ${tool.title ?? tool.name}?`} onClose={() => decide(false)}>
      <p>This tool may delete or overwrite something.</p>
      {Object.keys(args).length > 0 && <JsonTree value={args} open={3} />}
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          agree(event.currentTarget);
        }}
      >
        <label class="check">
          <input type="checkbox" name="trusted" /> Do not ask again for this tool
        </label>
        <div class="actions">
          <button type="button" onClick={() => decide(false)}>
            Cancel
          </button>
          <button type="submit" class="main">
            Call
          </button>
        </div>
      </form>
    </Dialog>
  );
}
