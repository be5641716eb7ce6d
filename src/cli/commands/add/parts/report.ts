/** A tool that runs in the background: each step runs once, even if the Worker is evicted between them. */
import { type McpServer, retrying } from "mcp-edge";
import * as z from "zod";

export function addReport<E>(server: McpServer<E>): void {
  server.tool(
    "make_report",
    {
      description: "Writes a report about a subject in the background",
      input: z.object({ subject: z.string().describe("What the report is about") }),
      task: "optional",
    },
    async ({ subject }, ctx) => {
      const facts = await ctx.step(
        "collect",
        retrying(() => collect(subject), { retries: 3, signal: ctx.signal }),
      );
      ctx.progress(1, { total: 2, message: "collected" });
      return ctx.step("write", () => `${subject}: ${facts.join(", ")}`);
    },
  );
}

/** Replace this with work that takes time, such as requests to other services. */
async function collect(subject: string): Promise<string[]> {
  return [`a fact about ${subject}`];
}
