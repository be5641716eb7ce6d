/**
 * Filters sampling requests to the client's model and their results.
 *
 * @module
 * @see MCP 2026-07-28, client/sampling, "Security Considerations"
 */
import type { SampleParams, SampleResult } from "../core/ask/sampling-params.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import { cleanText, mapText } from "./clean-text.ts";

/** Options of {@link filterSampling}. */
export interface FilterSamplingOptions {
  /**
   * Changes the request before it is sent, or throws to refuse it. In a handler that may be replayed, it must return the same result
   * for the same request.
   *
   * @default cleans all text with `cleanText`
   */
  readonly outgoing?: (params: SampleParams) => SampleParams | Promise<SampleParams>;
  /**
   * Changes the result before the handler receives it, or throws to refuse it.
   *
   * @default cleans all text with `cleanText`
   */
  readonly incoming?: (result: SampleResult, params: SampleParams) => SampleResult | Promise<SampleResult>;
}

const OPTIONS: OptionTable<FilterSamplingOptions> = { outgoing: null, incoming: null };

/**
 * Returns a function like `ctx.sample` that filters both the request, which leaves your server, and the result, which another
 * model has written.
 *
 * ```ts
 * const withoutMail = (text: string) => text.replace(/[\w.+-]+@[\w.-]+/g, "(address)");
 *
 * server.tool("summarize", { input: z.object({ text: z.string() }) }, async ({ text }, ctx) => {
 *   const sample = filterSampling((params) => ctx.sample(params), {
 *     outgoing: (params) => mapText(params, withoutMail),
 *   });
 *   const { content } = await sample({ messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 200 });
 *   return { content };
 * });
 * ```
 *
 * @throws {KitError} `options-invalid` for an option that does not exist.
 */
export function filterSampling(
  sample: (params: SampleParams) => Promise<SampleResult>,
  options: FilterSamplingOptions = {},
): (params: SampleParams) => Promise<SampleResult> {
  checkOptions("filterSampling(): ", options, OPTIONS);
  const clean = <T>(value: T): T => mapText(value, (text) => cleanText(text));
  const { outgoing = clean, incoming = clean } = options;
  return async (params) => {
    const sent = await outgoing(params);
    return incoming(await sample(sent), sent);
  };
}
