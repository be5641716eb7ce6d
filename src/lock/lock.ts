import { ClientError } from "../client/basics/errors.ts";
import type { ClientExtension, ExtensionContext, Tool } from "../client/index.ts";
import { quote } from "../core/basics/quote.ts";
import { KitError } from "../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { calledTool, findRequest } from "../core/protocol/methods.ts";
import { Budget } from "./budget.ts";
import type { InnerChange } from "./changes.ts";
import { compareTools } from "./compare.ts";
import { type LockedTool, lockTool } from "./contract.ts";
import { escapeHidden } from "./hidden.ts";
import { parseContract } from "./parse-contract.ts";

/** A tool that is not as it was when the contract was written. */
export interface ToolChange {
  /** The name of the tool. */
  readonly tool: string;
  /** Whether the tool is in the contract but has changed, or is not in the contract. */
  readonly status: "changed" | "added";
  /** The changes, which may contain text of the server. Empty if the tool was added. */
  readonly changes: readonly InnerChange[];
  /** The tool as the server lists it now; undefined if the server does not list it. */
  readonly current: Tool | undefined;
}

/** Options of {@link lock}. */
export interface LockOptions {
  /**
   * Receives each tool that has changed or was added, once for each of its definitions, before it is called. Return true to approve
   * the new definition for this client, for example after the user has read it. If the function returns anything else, throws or
   * rejects, the tool is not called.
   *
   * @default no new definition is approved
   */
  onChange?(change: ToolChange): unknown;
}

/** Thrown when a tool was called that has changed since the contract was written. The call was not sent. */
export class ToolChangedError extends ClientError {
  /** The changes of the tool. */
  readonly change: ToolChange;

  /** Created by the extension. @internal */
  constructor(change: ToolChange, cause?: unknown) {
    super("tool-invalid", toMessage(change), { cause });
    this.change = change;
  }
}

/**
 * Holds a server to a contract: a tool that has changed since the contract was written, or is not in it, is reported to `onChange`
 * and refused unless that approves it. This prevents a server from changing what a tool does, or what its description says to a model,
 * after the user has approved it. It cannot detect a server that behaves differently with the same definitions.
 *
 * The tools are compared whenever the client lists them. Before the first call of a tool that was not listed, and after the server
 * has reported a change, they are listed again.
 *
 * @param contract The content of a lock file that `mcp-edge lock` has written, after `JSON.parse`.
 * @throws {KitError} `options-invalid` naming the invalid member of the contract.
 */
export function lock(contract: object, options: LockOptions = {}): ClientExtension {
  const unknown = Object.keys(options).find((name) => name !== "onChange");
  if (unknown !== undefined)
    throw new KitError("options-invalid", `lock() has no option ${quote(unknown)}. Use onChange.`);
  const { contract: parsed, problem, isNewer } = parseContract(contract);
  if (problem !== undefined) {
    const fix = isNewer ? "Update mcp-edge." : "Delete the file, and write it again with mcp-edge lock.";
    throw new KitError("options-invalid", `lock(): ${problem} ${fix}`);
  }
  const locked = new Map(parsed.tools.map((tool) => [tool.name, tool]));
  return (context) => {
    const tools = new ListedTools(context, locked, options);
    return {
      onRequest: async (request, next) => {
        if (findRequest(request.method)?.list === "tools") {
          const listing = tools.begin(request.params?.cursor === undefined);
          return tools.remember(await next(request), listing);
        }
        const name = calledTool(request);
        if (name !== undefined) await tools.check(name);
        return next(request);
      },
      onNotification: (method) => {
        if (method === "notifications/tools/list_changed") tools.forget();
      },
    };
  };
}

/** Whether a definition may be called, and why not. */
interface Verdict {
  readonly change: ToolChange;
  readonly isApproved: Promise<boolean>;
}

/** The tools that one server has listed, compared with the contract. */
class ListedTools {
  readonly #context: ExtensionContext;
  readonly #locked: ReadonlyMap<string, LockedTool>;
  readonly #options: LockOptions;
  /** The verdict about each listed tool, undefined if it is as in the contract, and the number of the listing. */
  readonly #listed = new Map<string, { readonly verdict: Verdict | undefined; readonly listing: number }>();
  #listings = 0;
  /** The first listing that began after the server last reported a change. */
  #currentFrom = 0;
  /** The last definition of each tool that was reported, so that each one is reported once. */
  readonly #reported = new Map<string, { readonly text: string; readonly verdict: Verdict }>();
  #listing: Promise<unknown> | undefined;

  constructor(context: ExtensionContext, locked: ReadonlyMap<string, LockedTool>, options: LockOptions) {
    this.#context = context;
    this.#locked = locked;
    this.#options = options;
  }

  /** Returns the number of the listing to which the page belongs that is about to be requested. */
  begin(isFirst: boolean): number {
    if (isFirst) this.#listings += 1;
    return this.#listings;
  }

  /** Compares a page of tools. */
  remember(page: JsonObject, listing: number): JsonObject {
    // Shared by all tools of the page, so that a hostile page cannot take as long as many comparisons.
    const budget = new Budget();
    for (const tool of Array.isArray(page.tools) ? page.tools : []) {
      if (!isObject(tool)) continue;
      const name = String(tool.name);
      const twin = this.#listed.get(name);
      // A response can be overtaken by the response to a later request.
      if (twin && twin.listing > listing) continue;
      // The members of a tool are not trusted: lockTool() checks their types.
      const verdict = this.#judge(tool as unknown as Tool, budget);
      // If a server lists a name twice, one unchanged definition must not hide a changed one.
      const hidden = twin?.listing === listing ? twin.verdict : undefined;
      this.#listed.set(name, { verdict: verdict ?? hidden, listing });
    }
    return page;
  }

  /** Makes the next call list the tools again. */
  forget(): void {
    // A page that was requested earlier may arrive later, and may be older than the change.
    this.#currentFrom = this.#listings + 1;
    this.#listing = undefined;
  }

  /** @throws {ToolChangedError} if a tool has changed and the change is not approved. */
  async check(name: string): Promise<void> {
    const currentFrom = this.#currentFrom;
    const find = () => {
      const found = this.#listed.get(name);
      return found && found.listing >= currentFrom ? found : undefined;
    };
    if (!find()) await this.#list();
    const found = find();
    const verdict = found || this.#locked.has(name) ? found?.verdict : this.#unlisted(name);
    if (verdict && !(await verdict.isApproved)) throw new ToolChangedError(verdict.change);
  }

  async #list(): Promise<void> {
    // The answer of a cache might not pass through this extension, so the request is always sent.
    this.#listing ??= this.#context.client.tools({ fresh: true }).all();
    try {
      await this.#listing;
    } catch (error) {
      this.#listing = undefined;
      throw error;
    }
  }

  #judge(tool: Tool, budget: Budget): Verdict | undefined {
    const name = String(tool.name);
    const locked = this.#locked.get(name);
    const { text, compare } = describe(tool, locked, budget);
    const reported = this.#reported.get(name);
    if (reported?.text === text) return reported.verdict;
    const changes = compare();
    if (locked && changes.length === 0) return undefined;
    const verdict = this.#report({ tool: name, status: locked ? "changed" : "added", changes, current: tool });
    this.#reported.set(name, { text, verdict });
    return verdict;
  }

  #unlisted(name: string): Verdict {
    const change: ToolChange = { tool: name, status: "added", changes: [], current: undefined };
    return { change, isApproved: Promise.resolve(false) };
  }

  #report(change: ToolChange): Verdict {
    const ask = async () => (await this.#options.onChange?.(change)) === true;
    const isApproved = ask().catch((error: unknown) => {
      this.#context.report({ type: "handler-failed", handler: "onChange of lock()", error });
      return false;
    });
    return { change, isApproved };
  }
}

/** Returns a text that is different for each definition of a tool, and a function that returns the changes of the tool. */
function describe(tool: Tool, locked: LockedTool | undefined, budget: Budget) {
  try {
    const current = lockTool(tool);
    return { text: JSON.stringify(current), compare: () => (locked ? compareTools(locked, current, budget) : []) };
  } catch (error) {
    if (!KitError.is(error)) throw error;
    const { message } = error;
    return { text: message, compare: (): InnerChange[] => [{ severity: "breaking", path: "", reason: message }] };
  }
}

function toMessage({ tool, status, changes }: ToolChange): string {
  const name = escapeHidden(quote(tool));
  if (status === "added") return `The tool ${name} is not in the contract, so it was not called.`;
  const [first] = changes;
  const what = first ? ` ${first.path === "" ? "" : `${first.path}: `}${first.reason}` : "";
  const more = changes.length > 1 ? ` (and ${changes.length - 1} more)` : "";
  return `The tool ${name} has changed since it was approved, so it was not called:${what}${more}.`;
}
