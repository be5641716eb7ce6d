/** Helpers for the tests. */
import { type Client, type ClientOptions, connect } from "mcp-edge/client";

export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";

export const SALES = `region,product,amount
North,"Tea, green",10
South,Coffee,30
North,Coffee,
South,"Tea, black",20.5
`;

export function open(target: Parameters<typeof connect>[0], version = MODERN, options: Partial<ClientOptions> = {}) {
  return connect(target, {
    name: "test",
    version: "1.0.0",
    protocolVersions: [version],
    onEvent: () => {},
    ...options,
  });
}

/** Calls a tool. Returns its structured result, or the text of its error. */
export async function call(client: Client, tool: string, args: Record<string, unknown>): Promise<unknown> {
  const { content, structuredContent, isError } = await client.callTool(tool, args);
  if (!isError) return structuredContent ?? content;
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
