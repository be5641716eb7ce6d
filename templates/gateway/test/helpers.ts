/** Helpers for the tests. */
import { type Client, type ClientOptions, connect } from "mcp-edge/client";
import { startWorker, type TestWorker } from "mcp-edge/testing";

export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";

/** Starts the servers behind the gateway. */
export const startUpstreams = (): Promise<TestWorker> =>
  startWorker({ entry: "test/upstream/worker.ts", objects: ["McpObject", "LegacyObject"] });

export function open(target: Parameters<typeof connect>[0], version = MODERN, options: Partial<ClientOptions> = {}) {
  return connect(target, {
    name: "test",
    version: "1.0.0",
    protocolVersions: [version],
    onEvent: () => {},
    ...options,
  });
}

/** Calls a tool. Returns its text, which begins with "Error: " if the tool failed. */
export async function call(
  client: Client,
  tool: string,
  args: Record<string, unknown> = {},
  options = {},
): Promise<string> {
  const { content, isError } = await client.callTool(tool, args, options);
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return isError ? `Error: ${text}` : text;
}

/** A simulated user who answers the questions of `order`, and records them. */
export function user(meanwhile: (question: string) => unknown = () => undefined) {
  const questions: string[] = [];
  const onElicit: ClientOptions["onElicit"] = async ({ message }) => {
    questions.push(message);
    await meanwhile(message);
    const content: Record<string, string | boolean> = message.includes("size") ? { size: "M" } : { yes: true };
    return { action: "accept", content };
  };
  return { onElicit, questions };
}

/** Calls a function until it returns the expected value, because notifications may arrive at different times. */
export async function until<T>(read: () => Promise<T>, isRight: (value: T) => boolean): Promise<T> {
  const deadlineMs = performance.now() + 20_000;
  for (;;) {
    const value = await read();
    if (isRight(value)) return value;
    if (performance.now() > deadlineMs)
      throw new Error(`It did not happen in 20 s. The last value: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
