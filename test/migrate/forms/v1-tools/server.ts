#!/usr/bin/env node
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const server = new McpServer(
  { name: "tides", version: "1.0.0" },
  { capabilities: { logging: {} }, instructions: "Ask for a harbour first." },
);

const Harbour = z.object({ harbour: z.string().describe("Name of the harbour") });

function heightAt(harbour: string): number {
  if (harbour === "nowhere") throw new Error(`There is no harbour ${harbour}`);
  return harbour.length;
}

// The shape is written in place.
server.registerTool(
  "tide",
  {
    title: "Tide",
    description: "Height of the tide",
    inputSchema: { harbour: z.string(), unit: z.enum(["m", "ft"]).default("m") },
    outputSchema: { height: z.number() },
    annotations: { readOnlyHint: true },
  },
  async ({ harbour, unit }): Promise<CallToolResult> => {
    const height = heightAt(harbour) * (unit === "ft" ? 3 : 1);
    return { content: [{ type: "text", text: `${height} ${unit}` }], structuredContent: { height } };
  },
);

server.registerTool("shape", { inputSchema: Harbour.shape }, ({ harbour }) => ({
  content: [{ type: "text", text: harbour }],
}));

server.registerTool("schema", { inputSchema: Harbour }, async (args) => ({
  content: [{ type: "text", text: args.harbour }],
}));

server.registerTool("now", { description: "No arguments" }, async (extra) => {
  await extra.sendNotification({
    method: "notifications/progress",
    params: { progressToken: extra._meta?.progressToken ?? 0, progress: 1, total: 2, message: "half" },
  });
  return { content: [{ type: "text", text: extra.signal.aborted ? "aborted" : "now" }] };
});

async function main() {
  const transport = new StdioServerTransport();
  await server.connect(transport);
  console.error("tides is running");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
