import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { usageError } from "../exit.ts";
import { readBytes } from "./files.ts";

/**
 * Returns the JSON object in a file; undefined if the file does not exist.
 *
 * @throws {CliError} if the file does not contain a JSON object.
 */
export function readJsonFile(path: string): JsonObject | undefined {
  const bytes = readBytes(path);
  if (!bytes) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    // The next line reports it.
  }
  if (!isObject(value)) throw usageError(`${path} is not a JSON object. Repair or delete it.`);
  return value;
}
