/**
 * Advice on what to buy. The client's model gives the advice if the client supports sampling; otherwise the advice is a search in the
 * catalogue. With `sampling.tools`, the model can look up products itself, in an agent loop.
 */
import { type HandlerContext, QuestionError, type SampleParams, type SampleResult } from "mcp-edge";
import { filterSampling } from "mcp-edge/safe";
import * as z from "zod";
import { describeProduct, searchProducts } from "./catalogue.ts";

/** The maximum number of turns. Then the model must answer, so that the loop cannot continue to spend the user's money. */
const TURNS_MAX = 5;
const SYSTEM_PROMPT =
  "You advise customers of a shop. Recommend at most three of its products, with their ids, and give your reasons.";

/** Returns a recommendation as text. */
export async function advise(wish: string, euros: number | undefined, ctx: HandlerContext): Promise<string> {
  const centsMax = euros === undefined ? undefined : euros * 100;
  const budget = euros === undefined ? "" : ` At most ${euros} EUR.`;
  const question = `A customer is looking for: ${wish}.${budget}`;
  // Invisible characters are removed from the request and the answer, because both contain untrusted text.
  const sample = filterSampling((params) => ctx.sample(params));
  try {
    if (ctx.client.can("sampling.tools")) return await adviseWithTools(question, centsMax, sample);
    if (ctx.client.can("sampling")) return await adviseAtOnce(question, centsMax, sample);
  } catch (error) {
    // If the user refuses to let the model answer, use the search. Other errors are bugs.
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
  description: "Finds products of the shop by keywords. An empty query lists all products.",
  inputSchema: z.toJSONSchema(searchInput),
};

async function adviseWithTools(question: string, centsMax: number | undefined, sample: Sample): Promise<string> {
  const messages: SampleParams["messages"][number][] = [{ role: "user", content: { type: "text", text: question } }];
  for (let turn = 1; ; turn += 1) {
    // In the last turn, the model cannot use tools, so it has to answer.
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
  return found.length > 0 ? found.map(describeProduct).join("\n") : "No product matches.";
}

interface Block {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Returns the content as a list. mcp-edge has validated that it is one block or a list of blocks. */
const listBlocks = ({ content }: SampleResult): Block[] => [content as Block | Block[]].flat();

function joinText(answer: SampleResult): string {
  const texts = listBlocks(answer).flatMap(({ type, text }) => (type === "text" ? [String(text)] : []));
  return texts.join("\n") || "The model gave no advice.";
}
