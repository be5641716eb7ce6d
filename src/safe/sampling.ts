/**
 * Filters what goes to the client's model and what comes back.
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
   * Changes the request before it is sent, or throws to refuse it. In a handler that may run again it must return the
   * same for the same request.
   *
   * @default cleans every text with `cleanText`
   */
  readonly outgoing?: (params: SampleParams) => SampleParams | Promise<SampleParams>;
  /**
   * Changes the answer before the handler sees it, or throws to refuse it.
   *
   * @default cleans every text with `cleanText`
   */
  readonly incoming?: (result: SampleResult, params: SampleParams) => SampleResult | Promise<SampleResult>;
}

const OPTIONS: OptionTable<FilterSamplingOptions> = { outgoing: null, incoming: null };

/**
 * Returns a function like `ctx.sample` that filters both directions: the prompt, which leaves your server, and the answer,
 * which another model wrote.
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
