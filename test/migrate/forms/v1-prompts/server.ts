import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { GetPromptResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

export function createServer() {
  const server = new McpServer({ name: "prompts", version: "1.0.0" });
  server.registerPrompt(
    "review",
    {
      title: "Review",
      argsSchema: {
        language: completable(z.string(), (value) => ["go", "rust"].filter((each) => each.startsWith(value))),
        file: completable(z.string().optional(), (value, context) => [`${context?.arguments?.language}/${value}`]),
      },
    },
    async ({ language, file }): Promise<GetPromptResult> => ({
      messages: [{ role: "user", content: { type: "text", text: `Review ${file} in ${language}` } }],
    }),
  );
  return server;
}
