/**
 * The place of an endpoint's objects, for endpoints that list their parts one by one.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import type { PlaceOptions } from "./bindings.ts";
import type { PlacePart } from "./parts.ts";

const OPTIONS: OptionTable<PlaceOptions> = { className: null, binding: null, jurisdiction: null, locationHint: null };

/**
 * Says where the objects of an endpoint are, and under which name the Worker exports their class. `durable()` has the same
 * options.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * const app = edge(server, { use: [sessions(), keys(), objects({ className: "NotesObject" })] });
 * export default app;
 * export class NotesObject extends app.McpObject {}
 * ```
 */
export function objects(options: PlaceOptions): PlacePart {
  checkOptions("objects(): ", options, OPTIONS);
  return { ...options, slot: "place" };
}
