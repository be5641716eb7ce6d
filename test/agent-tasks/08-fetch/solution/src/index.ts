import { McpServer, ToolError } from "mcp-edge";
import { cleanText, createSafeFetch } from "mcp-edge/safe";
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import * as z from "zod";

const api = createSafeFetch({ hosts: ["rates.example.com"], responseBytesMax: 100_000, timeoutMs: 10_000 });
const web = createSafeFetch({ responseBytesMax: 1_000_000, timeoutMs: 10_000 });
const code = z.string().regex(/^[A-Z]{3,6}$/, "Give a currency code such as EUR");

const server = new McpServer({ name: "fetch", version: "1.0.0" });
server.tool(
  "exchange_rate",
  {
    description: "Returns the exchange rate of two currencies",
    annotations: { readOnlyHint: true, openWorldHint: true },
    input: z.object({ from: code, to: code }),
    output: z.object({ rate: z.number() }),
  },
  async ({ from, to }, ctx) => {
    try {
      const response = await api(`https://rates.example.com/rates/${from}?to=${to}`, { signal: ctx.signal });
      if (response.ok) return z.object({ rate: z.number() }).parse(await response.json());
      await response.body?.cancel();
      if (response.status === 404) throw new ToolError(`There is no rate from ${from} to ${to}.`);
    } catch (error) {
      if (ToolError.is(error)) throw error;
    }
    throw new ToolError("The exchange rate cannot be read at the moment. Try again later.");
  },
);
server.tool(
  "page_title",
  {
    description: "Returns the title of a public web page",
    annotations: { readOnlyHint: true, openWorldHint: true },
    input: z.object({ url: z.string() }),
    output: z.object({ title: z.string() }),
  },
  async ({ url }, ctx) => {
    const response = await web(url, { signal: ctx.signal });
    const [, title = ""] = /<title[^>]*>([^<]*)</i.exec(await response.text()) ?? [];
    return { title: cleanText(title).trim() };
  },
);

const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}
