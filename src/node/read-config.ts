import { readFile } from "node:fs/promises";
import { KitError } from "../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { parseJsonc } from "./jsonc.ts";

/**
 * Reads a configuration file of Claude (`.mcp.json`, `claude_desktop_config.json`), Cursor (`.cursor/mcp.json`) or VS Code
 * (`.vscode/mcp.json`), for `openHost` in `mcp-edge/client`. Comments and trailing commas are allowed.
 *
 * @throws {KitError} `options-invalid` naming the file, if it is not a JSON object. Errors of the file system are thrown unchanged.
 */
export async function readMcpConfig(path: string): Promise<JsonObject> {
  const text = await readFile(path, "utf8");
  try {
    const config: unknown = parseJsonc(text);
    if (isObject(config)) return config;
  } catch (cause) {
    throw new KitError("options-invalid", `${path} is not JSON: ${(cause as Error).message}`);
  }
  throw new KitError("options-invalid", `${path} does not contain a JSON object.`);
}
