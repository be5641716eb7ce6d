/**
 * The reference server's prompts.
 *
 * @module
 */
import type { McpServer, PromptMessage } from "../core/index.ts";
import { IMAGE_PNG } from "./samples.ts";

const LANGUAGES = ["go", "java", "javascript", "python", "ruby", "rust", "typescript"];

export function addPrompts(server: McpServer): void {
  addTestPrompts(server);
  addDeveloperPrompts(server);
}

/** Prompts for the official conformance suite. */
function addTestPrompts(server: McpServer): void {
  server.prompt(
    "test_simple_prompt",
    { description: "One message without arguments" },
    () => "This is a simple prompt for testing.",
  );
  server.prompt(
    "test_prompt_with_arguments",
    {
      description: "Repeats its two arguments",
      arguments: [
        { name: "arg1", description: "First test argument", required: true },
        { name: "arg2", description: "Second test argument", required: true },
      ],
      complete: { arg1: (typed) => ["testing", "tested", "paris"].filter((value) => value.startsWith(typed)) },
    },
    ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  );
  server.prompt(
    "test_prompt_with_embedded_resource",
    {
      description: "Embeds a resource",
      arguments: [{ name: "resourceUri", description: "URI of the resource to embed", required: true }],
    },
    ({ resourceUri = "" }) => [
      {
        role: "user",
        content: {
          type: "resource",
          resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." },
        },
      },
      { role: "user", content: "Please process the embedded resource above." },
    ],
  );
  server.prompt("test_prompt_with_image", { description: "Shows an image" }, () => [
    { role: "user", content: { type: "image", data: IMAGE_PNG, mimeType: "image/png" } },
    { role: "user", content: "Please analyze the image above." },
  ]);
}

/** Prompts of a developer's day, from the protocol's documentation. */
function addDeveloperPrompts(server: McpServer): void {
  server.prompt(
    "git-commit",
    {
      description: "Write a commit message",
      arguments: [{ name: "changes", description: "Diff or description of the changes", required: true }],
    },
    ({ changes }) => `Write a concise but descriptive commit message for these changes:\n\n${changes}`,
  );
  server.prompt(
    "explain-code",
    {
      description: "Explain how code works",
      arguments: [
        { name: "code", description: "Code to explain", required: true },
        { name: "language", description: "Programming language" },
      ],
      complete: { language: (typed) => LANGUAGES.filter((language) => language.startsWith(typed)) },
    },
    ({ code, language }) => `Explain how this${language ? ` ${language}` : ""} code works:\n\n${code}`,
  );
  server.prompt(
    "analyze-project",
    {
      description: "Analyze logs of a time frame together with a file",
      arguments: [
        { name: "timeframe", description: "How far back to look, such as 1h", required: true },
        { name: "fileUri", description: "URI of the file to read", required: true },
      ],
    },
    async ({ timeframe = "", fileUri = "" }, ctx) => {
      const embed = async (uri: string): Promise<PromptMessage[]> =>
        (await ctx.readResource(uri)).map((resource) => ({ role: "user", content: { type: "resource", resource } }));
      const logs = await embed(`logs://recent?timeframe=${timeframe}`);
      return [{ role: "user", content: "Analyze these logs and this file:" }, ...logs, ...(await embed(fileUri))];
    },
  );
  server.prompt(
    "analyze-code",
    {
      description: "Look for ways to improve code",
      arguments: [{ name: "language", description: "Programming language", required: true }],
      complete: { language: (typed) => LANGUAGES.filter((language) => language.startsWith(typed)) },
    },
    ({ language }) => `Analyze the following ${language} code for potential improvements:`,
  );
  server.prompt(
    "debug-error",
    {
      description: "Find the cause of an error in three turns",
      arguments: [{ name: "error", description: "Error message", required: true }],
    },
    ({ error }) => [
      { role: "user", content: `Here's an error I'm seeing:\n\n${error}` },
      { role: "assistant", content: "I'll help find the cause. What have you tried so far?" },
      { role: "user", content: "I've tried restarting the service, but the error is still there." },
    ],
  );
}
