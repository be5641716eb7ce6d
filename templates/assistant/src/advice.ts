/**
 * Advice on what to buy. The client's model gives it if the client has one to offer (sampling); otherwise a search in the
 * catalogue does. With `sampling.tools`, the model may look up products itself, as often as it needs: an agent in a loop.
 */
import { type HandlerContext, QuestionError, type SampleParams, type SampleResult } from "mcp-edge";
import { filterSampling } from "mcp-edge/safe";
import * as z from "zod";
import { describeProduct, searchProducts } from "./catalogue.ts";

/** The model must answer after this number of turns, so that a loop cannot spend the user's money forever. */
const TURNS_MAX = 5;
const SYSTEM_PROMPT =
  "You advise customers of a shop. Recommend at most three of its products, with their ids, and say why.";

/** Returns a recommendation as text. */
export async function advise(wish: string, euros: number | undefined, ctx: HandlerContext): Promise<string> {
  const centsMax = euros === undefined ? undefined : euros * 100;
  const budget = euros === undefined ? "" : ` At most ${euros} EUR.`;
  const question = `A customer wishes: ${wish}.${budget}`;
  // Both directions are cleaned of invisible characters, because the wish and the answer are texts from outside.
  const sample = filterSampling((params) => ctx.sample(params));
  try {
    if (ctx.client.can("sampling.tools")) return await adviseWithTools(question, centsMax, sample);
    if (ctx.client.can("sampling")) return await adviseAtOnce(question, centsMax, sample);
  } catch (error) {
    // The user may refuse to let the model answer, and then the search still can. Other errors are mistakes.
    if (!(error instanceof QuestionError)) throw error;
  }
  return listProducts(wish, centsMax);
}

type Sample = (params: SampleParams) => Promise<SampleResult>;

async function adviseAtOnce(question: string, centsMax: number | undefined, sample: Sample): Promise<string> {
  const text = `${question}\n\nAll products:\n${listProducts("", centsMax)}`;
  const messages = [{ role: "user" as const, content: { type: "text", text } }];
  return joinText(await sample({ messages, maxTokens: 500, systemPrompt: SYSTEM_PROMPT }));
}

const searchInput = z.object({ query: z.string().max(200) });
const SEARCH_TOOL = {
  name: "search_products",
  description: "Finds products of the shop by words. An empty query lists all of them.",
  inputSchema: z.toJSONSchema(searchInput),
};

async function adviseWithTools(question: string, centsMax: number | undefined, sample: Sample): Promise<string> {
  const messages: SampleParams["messages"][number][] = [{ role: "user", content: { type: "text", text: question } }];
  for (let turn = 1; ; turn += 1) {
    // In the last turn the model may not use tools, so it answers.
    const toolChoice = { mode: turn < TURNS_MAX ? "auto" : "none" };
    const answer = await sample({
      messages,
      maxTokens: 500,
      systemPrompt: SYSTEM_PROMPT,
      tools: [SEARCH_TOOL],
      toolChoice,
    });
    const uses = listBlocks(answer).filter(({ type }) => type === "tool_use");
    if (uses.length === 0 || turn === TURNS_MAX) return joinText(answer);
    const results = uses.map(({ id, name, input }) => {
      const asked = searchInput.safeParse(input);
      const isRight = name === SEARCH_TOOL.name && asked.success;
      const text = isRight ? listProducts(asked.data.query, centsMax) : "Use search_products with a query.";
      return { type: "tool_result", toolUseId: id, content: [{ type: "text", text }], isError: !isRight };
    });
    messages.push({ role: "assistant", content: answer.content }, { role: "user", content: results });
  }
}

function listProducts(query: string, centsMax: number | undefined): string {
  const found = searchProducts(query, centsMax);
  return found.length > 0 ? found.map(describeProduct).join("\n") : "No product fits.";
}

interface Block {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** The kit has checked that the content is one block or several. */
const listBlocks = ({ content }: SampleResult): Block[] => [content as Block | Block[]].flat();

function joinText(answer: SampleResult): string {
  const texts = listBlocks(answer).flatMap(({ type, text }) => (type === "text" ? [String(text)] : []));
  return texts.join("\n") || "The model gave no advice.";
}
