import { McpServer } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import * as z from "zod";

/** Need not survive a restart. */
let last = { visited: 0, finished: false };

const server = new McpServer({ name: "crawl", version: "1.0.0" });
server.tool(
  "crawl",
  {
    description: "Visits the pages of a site",
    input: z.object({ pages: z.number().int().min(1).max(200) }),
    output: z.object({ visited: z.number() }),
  },
  async ({ pages }, ctx) => {
    const crawl = { visited: 0, finished: false };
    last = crawl;
    while (crawl.visited < pages) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      ctx.signal.throwIfAborted();
      crawl.visited += 1;
      ctx.progress(crawl.visited, { total: pages, message: `Page ${crawl.visited} of ${pages}` });
    }
    crawl.finished = true;
    return { visited: crawl.visited };
  },
);
server.tool(
  "last_crawl",
  {
    description: "Returns how far the most recent crawl got",
    annotations: { readOnlyHint: true },
    output: z.object({ visited: z.number(), finished: z.boolean() }),
  },
  () => ({ ...last }),
);

const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}
