import { McpServer, retrying } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import * as z from "zod";

const STAGES = ["stage-1", "stage-2", "stage-3", "stage-4", "stage-5"];

async function send(topic: string, stage: string): Promise<true> {
  const response = await fetch("https://sink.example.com/chapters", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ topic, stage }),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`The sink answered ${response.status}.`);
  return true;
}

const server = new McpServer({ name: "report", version: "1.0.0" });
server.tool(
  "build_report",
  {
    description: "Builds a report",
    input: z.object({ topic: z.string().max(200) }),
    output: z.object({ topic: z.string(), chapters: z.number() }),
    task: "required",
  },
  async ({ topic }, ctx) => {
    for (const [index, stage] of STAGES.entries()) {
      ctx.progress(index, { total: STAGES.length, message: `${stage} is running` });
      await ctx.step(
        stage,
        retrying(() => send(topic, stage), { retries: 5, signal: ctx.signal }),
      );
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    return { topic, chapters: STAGES.length };
  },
);

const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}
