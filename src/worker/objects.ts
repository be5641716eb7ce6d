/**
 * Where the objects of an endpoint are, for endpoints that list their parts one by one.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import type { ObjectsOptions } from "./bindings.ts";
import type { ObjectsPart, Part } from "./parts.ts";

const OPTIONS: OptionTable<ObjectsOptions> = { className: null, binding: null, jurisdiction: null, locationHint: null };

/**
 * Says where the objects of an endpoint are, and under which name the Worker exports their class. `durable()` has the same
 * options, so an endpoint with `durable()` does not need this part.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * const app = edge(server, { use: [sessions(), keys(), objects({ className: "NotesObject" })] });
 * export default app;
 * export class NotesObject extends app.McpObject {}
 * ```
 */
export function objects(options: ObjectsOptions): Part {
  checkOptions("objects(): ", options, OPTIONS);
  const part: ObjectsPart = { ...options, slot: "objects" };
  return part;
}
