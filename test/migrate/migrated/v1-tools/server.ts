#!/usr/bin/env node
import { serveStdio } from "mcp-edge/node";
import { McpServer, ToolError, type ToolResult } from "mcp-edge";
import { z } from "zod";

const server = new McpServer(
  { name: "tides", version: "1.0.0", instructions: "Ask for a harbour first." }
);

const Harbour = z.object({ harbour: z.string().describe("Name of the harbour") });

function heightAt(harbour: string): number {
  if (harbour === "nowhere") throw new ToolError(`There is no harbour ${harbour}`);
  return harbour.length;
}

// The shape is written in place.
server.tool(
  "tide",
  {
    title: "Tide",
    description: "Height of the tide",
    input: z.object({ harbour: z.string(), unit: z.enum(["m", "ft"]).default("m") }),
    output: z.object({ height: z.number() }),
    annotations: { readOnlyHint: true },
  },
  async ({ harbour, unit }): Promise<ToolResult> => {
    const height = heightAt(harbour) * (unit === "ft" ? 3 : 1);
    return { content: [{ type: "text", text: `${height} ${unit}` }], structuredContent: { height } };
  },
);

server.tool("shape", { input: Harbour }, ({ harbour }) => ({
  content: [{ type: "text", text: harbour }],
}));

server.tool("schema", { input: Harbour }, async (args) => ({
  content: [{ type: "text", text: args.harbour }],
}));

server.tool("now", { description: "No arguments" }, async (_args, extra) => {
  await extra.progress(1, { total: 2, message: "half" });
  return { content: [{ type: "text", text: extra.signal.aborted ? "aborted" : "now" }] };
});

async function main() {
  console.error("tides is running");
  await serveStdio(server);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
