import { McpServer, type PromptReturn } from "mcp-edge";
import { z } from "zod";

export function createServer() {
  const server = new McpServer({ name: "prompts", version: "1.0.0" });
  server.prompt(
    "review",
    {
      title: "Review",
      arguments: z.object({
        language: z.string(),
        file: z.string().optional(),
      }), complete: { language: (value) => ["go", "rust"].filter((each) => each.startsWith(value)), file: (value, chosen) => ((value, context) => [`${context?.arguments?.language}/${value}`])(value, { arguments: chosen }) },
    },
    async ({ language, file }): Promise<PromptReturn> => ({
      messages: [{ role: "user", content: { type: "text", text: `Review ${file} in ${language}` } }],
    }),
  );
  return server;
}
