/**
 * Checks structured results against output schemas.
 *
 * @module
 */
import { type OutputCheck, prepareOutput } from "../../client/validation/output-schema.ts";

/** Returns a function that checks results. Schemas with patterns are ignored, because untrusted patterns could take forever. */
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
      // The check takes too long. The client can still check the result.
      return undefined;
    }
  };
}

function prepare(schema: object): OutputCheck | undefined {
  try {
    return /"pattern(?:Properties)?":/.test(JSON.stringify(schema)) ? undefined : prepareOutput(schema);
  } catch {
    // The dialect is unknown, or the schema is too large.
    return undefined;
  }
}
