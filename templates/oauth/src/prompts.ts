/** Prompts for developers, which users choose in their client. The last one can lead to an issue. */
import type { McpServer } from "mcp-edge";
import * as z from "zod";
import type { NotebookEnv } from "./env.ts";

const LANGUAGES = ["Go", "Java", "JavaScript", "Python", "Ruby", "Rust", "TypeScript"];

export function addPrompts(server: McpServer<NotebookEnv>): void {
  server.prompt(
    "git-commit",
    {
      title: "Write a commit message",
      description: "Write a commit message for changes",
      arguments: z.object({ changes: z.string().describe("A diff, or a description of the changes") }),
    },
    ({ changes }) => `Write a concise but descriptive commit message for these changes:\n\n${changes}`,
  );

  server.prompt(
    "explain-code",
    {
      title: "Explain code",
      description: "Explain how code works",
      arguments: z.object({ code: z.string(), language: z.string().optional() }),
      complete: { language: (typed) => LANGUAGES.filter((name) => name.toLowerCase().startsWith(typed.toLowerCase())) },
    },
    ({ code, language }) => `Explain how this ${language ? `${language} code` : "code"} works:\n\n${code}`,
  );

  server.prompt(
    "debug-error",
    {
      title: "Debug an error",
      description: "Find the cause of an error, and report it",
      arguments: z.object({
        error: z.string().describe("The message, with its stack if there is one"),
        tried: z.string().optional().describe("What you have tried so far"),
      }),
    },
    // The beginning of a conversation. The model answers the last message.
    ({ error, tried }) => [
      say("user", `Here's an error I'm seeing:\n\n${error}`),
      say("assistant", "I'll help find the cause. What have you tried so far?"),
      say(
        "user",
        `${tried ?? "Nothing yet."}\n\nIf it is a bug of a project on GitHub, offer to create an issue there.`,
      ),
    ],
  );
}

function say(role: "user" | "assistant", text: string) {
  return { role, content: { type: "text" as const, text } };
}
