/**
 * Checks structured results against the schemas that servers declare.
 *
 * @module
 */
import { type OutputCheck, prepareOutput } from "../../client/validation/output-schema.ts";

/** Returns the function. Schemas come from servers, so that those with patterns, which may take forever, are not used. */
export function createOutputCheck(): (schema: unknown, value: unknown) => string | undefined {
  const checks = new WeakMap<object, OutputCheck | undefined>();
  const checkOf = (schema: object): OutputCheck | undefined => {
    if (checks.has(schema)) return checks.get(schema);
    const check = prepare(schema);
    checks.set(schema, check);
    return check;
  };
  return (schema, value) => {
    const check = typeof schema === "object" && schema !== null ? checkOf(schema) : undefined;
    if (!check) return undefined;
    if (value === undefined) return "";
    try {
      return check(value)[0]?.path;
    } catch {
      // Too much work. The client that has called the tool may check it.
      return undefined;
    }
  };
}

function prepare(schema: object): OutputCheck | undefined {
  try {
    return /"pattern(?:Properties)?":/.test(JSON.stringify(schema)) ? undefined : prepareOutput(schema);
  } catch {
    // A dialect that is unknown, or a schema that is too large.
    return undefined;
  }
}
