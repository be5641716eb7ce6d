import { existsSync, readFileSync } from "node:fs";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { usageError } from "../exit.ts";

/**
 * Returns the JSON object in a file, or undefined if there is no file.
 *
 * @throws {CliError} if the file holds something else.
 */
export function readJsonFile(path: string): JsonObject | undefined {
  if (!existsSync(path)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // Reported below.
  }
  if (!isObject(value)) throw usageError(`${path} is not a JSON object. Repair or delete it.`);
  return value;
}
