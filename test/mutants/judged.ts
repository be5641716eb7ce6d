/**
 * The generated mutants that no test must notice: `npm run long -- mutate` lists the others. An entry for code that has
 * changed no longer applies and does no harm.
 */
import type { Survivor } from "../../scripts/mutate/mutate-room.ts";

/** Why mutants of a file may survive, by the text that they replace. */
const JUDGED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "src/core/seal/env-keys.ts": {
    "rings.size > RINGS_MAX": "How many rings are kept before they are forgotten need not be exact.",
  },
  "src/core/seal/key-ring.ts": {
    "{ // The tag does not match, so the value was forged or altered. return undefined; }":
      "A function that ends returns undefined.",
    "!bytes || !key": "Without a key, the decryption fails and returns undefined as well.",
    "/[\\s,]+/": "Empty texts between separators are left out in any case.",
    "/=+$/": "32 bytes in base64 end with a single =.",
    false:
      "Whether the imported secret can be exported does not matter, because nothing outside of the function has it.",
  },
  "src/schema/index.ts": {
    "count > max": "Counting to the end takes longer and has the same result.",
    "max - count": "Counting to the end takes longer and has the same result.",
    "depth > DEFAULTS_DEPTH_MAX": "One level more or less does not matter.",
    "named === undefined": "Without a schema, no default is filled in either.",
    "!isObject(property)": "Without a schema, no default is filled in either.",
  },
};

/** Whether a person has decided that no test needs to notice this mutant. */
export function judged({ place, original }: Survivor): boolean {
  return JUDGED[place.replace(/:\d+$/, "")]?.[original] !== undefined;
}
