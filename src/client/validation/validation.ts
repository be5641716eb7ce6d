import { KitError } from "../../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { calledTool, findRequest } from "../../core/protocol/methods.ts";
import type { ClientExtension, ExtensionContext } from "../api/extensions.ts";
import { ClientError, toText } from "../basics/errors.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import { type OutputCheck, type OutputIssue, prepareOutput } from "./output-schema.ts";

/** Options of {@link validation}. */
export interface ValidationOptions {
  /**
   * How to handle a call of a tool whose output schema cannot be used, because its dialect is not 2020-12, 2019-09 or draft-07, it
   * is too large, or it refers to another document. `refuse` rejects the call with `tool-invalid` before it is sent. `warn` sends it, and
   * reports that the result is not validated.
   *
   * @default refuse
   */
  readonly unusable?: "refuse" | "warn";
}

const OPTIONS: Readonly<Record<keyof ValidationOptions, true>> = { unusable: true };

/** Thrown when the structured result of a tool does not match its output schema. The tool has run. */
export class OutputError extends ClientError {
  /** The name of the tool. */
  readonly tool: string;
  /** The violations of the schema. */
  readonly issues: readonly OutputIssue[];
  /** The whole result, as the server sent it. */
  readonly result: JsonObject;

  /** Created by the extension. @internal */
  constructor(tool: string, issues: readonly OutputIssue[], result: JsonObject) {
    const [{ path, message } = { path: "", message: "" }] = issues;
    const where = path === "" ? "structuredContent" : `structuredContent at ${path}`;
    super("answer-invalid", `The result of ${tool} does not match its outputSchema: ${where}: ${message}`, {
      mayHaveRun: true,
    });
    this.tool = tool;
    this.issues = issues;
    this.result = result;
  }
}

/**
 * Validates the structured result of each tool call with the `outputSchema` of the tool.
 *
 * The schemas come from the listed tools. Before the first call of a tool that was not listed, the tools are listed once. An invalid
 * result is validated again with the current definition of the tool. If it is still invalid, the call rejects with an
 * {@link OutputError}. Results with `isError` are not validated.
 *
 * A `$ref` to another document is never fetched. The size and depth of schemas and the work of each validation are limited. Patterns
 * are evaluated by the JavaScript engine, which a hostile pattern can keep busy, and so can the comparison of the items of a long list.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @see MCP 2026-07-28, server/tools, "Output Schema"
 */
export function validation(options: ValidationOptions = {}): ClientExtension {
  // checkOptions() is not used here, because it would add a tenth to the size of this entry.
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown !== undefined) throw new KitError("options-invalid", `validation() has no option "${unknown}".`);
  return (context) => {
    const outputs = new Outputs(context, options);
    return {
      onRequest: async (request, next) => {
        if (findRequest(request.method)?.list === "tools") return outputs.remember(await next(request));
        const tool = calledTool(request);
        if (tool === undefined) return next(request);
        const isSatisfied = await outputs.checkFor(tool);
        return outputs.checked(tool, isSatisfied, await next(request));
      },
    };
  };
}

/** The output schema of a tool, and its validation once it was needed. */
interface Output {
  readonly schema: unknown;
  check?: OutputCheck;
}

/** The output schemas of the tools of one server. */
class Outputs {
  readonly #context: ExtensionContext;
  readonly #options: ValidationOptions;
  readonly #outputs = new Map<string, Output>();
  #listing: Promise<unknown> | undefined;

  constructor(context: ExtensionContext, options: ValidationOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Stores the schemas of a page of tools. */
  remember(page: JsonObject): JsonObject {
    for (const tool of Array.isArray(page.tools) ? page.tools : []) {
      if (isObject(tool)) this.#outputs.set(String(tool.name), { schema: tool.outputSchema });
    }
    return page;
  }

  /**
   * Returns the validation for the results of a tool, or undefined if the tool has no output schema.
   *
   * @throws {ClientError} `tool-invalid` if the schema cannot be used.
   */
  async checkFor(tool: string): Promise<OutputCheck | undefined> {
    // The tools are listed only once, because the server refuses calls of tools that it does not list.
    this.#listing ??= this.#outputs.has(tool) ? undefined : this.#list();
    await this.#listing;
    const output = this.#outputs.get(tool);
    if (output?.schema === undefined) return undefined;
    try {
      output.check ??= prepareOutput(output.schema);
    } catch (cause) {
      const text = `The outputSchema of ${tool} cannot be used: ${toText(cause)}.`;
      if (this.#options.unusable !== "warn") throw new ClientError("tool-invalid", text, { cause });
      this.#context.report({ type: "warning", message: `${text} Its results are not validated.` });
      output.check = () => [];
    }
    return output.check;
  }

  /** Validates a result. @throws {OutputError} if it is invalid. */
  async checked(tool: string, check: OutputCheck | undefined, result: JsonObject): Promise<JsonObject> {
    const issues = listIssues(result, check);
    if (issues.length === 0) return result;
    // The tool may have changed since it was listed.
    const renewed = await this.#list({ fresh: true })
      .then(() => this.checkFor(tool))
      .catch(() => check);
    const remaining = listIssues(result, renewed);
    if (remaining.length > 0) throw new OutputError(tool, remaining, result);
    return result;
  }

  async #list(options: RequestOptions = {}): Promise<void> {
    try {
      await this.#context.client.tools(options).all();
    } catch (error) {
      this.#listing = undefined;
      throw error;
    }
  }
}

function listIssues(result: JsonObject, check: OutputCheck | undefined): readonly OutputIssue[] {
  const { resultType = "complete", isError, structuredContent, task } = result;
  // If the call has become a task, the result comes later.
  if (!check || isError === true || resultType !== "complete" || isObject(task)) return [];
  if (structuredContent === undefined) return [{ path: "", message: "it is missing" }];
  try {
    return check(structuredContent);
  } catch (error) {
    return [{ path: "", message: `it could not be validated: ${toText(error)}` }];
  }
}
