import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { usageError } from "../exit.ts";
import { readBytes } from "./files.ts";

/**
 * Returns the JSON object in a file, or undefined if there is no file.
 *
 * @throws {CliError} if the file holds something else.
 */
export function readJsonFile(path: string): JsonObject | undefined {
  const bytes = readBytes(path);
  if (!bytes) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    // Reported below.
  }
  if (!isObject(value)) throw usageError(`${path} is not a JSON object. Repair or delete it.`);
  return value;
}
