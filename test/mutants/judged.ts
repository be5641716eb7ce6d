/**
 * The generated mutants that no test must notice: `npm run long -- mutate` lists the others. An entry for code that has
 * changed no longer applies and does no harm.
 */
import type { Survivor } from "../../scripts/mutate/mutate-room.ts";

interface Judged {
  /** The text that is replaced. */
  readonly original: string;
  readonly replacement: string;
  /** Why the replacement changes nothing that matters. */
  readonly reason: string;
}

const JUDGED: Readonly<Record<string, readonly Judged[]>> = {
  "src/core/seal/env-keys.ts": [
    {
      original: "rings.size > RINGS_MAX",
      replacement: "rings.size >= RINGS_MAX",
      reason: "One ring more or less does not matter.",
    },
  ],
  "src/core/seal/key-ring.ts": [
    {
      original: "{ // The tag does not match, so the value was forged or altered. return undefined; }",
      replacement: "{}",
      reason: "Without the return, the function returns undefined as well.",
    },
    {
      original: "!bytes || !key",
      replacement: "!bytes && !key",
      reason: "Without a key, the decryption fails and the function returns undefined as well.",
    },
    {
      original: "/[\\s,]+/",
      replacement: "/[\\s,]/",
      reason: "Empty texts between separators are left out in any case.",
    },
    { original: "/=+$/", replacement: "/=$/", reason: "32 bytes in base64 end with a single =." },
    {
      original: "false",
      replacement: "true",
      reason: "Whether a key can be exported does not matter, because no code outside of KeyRing can reach it.",
    },
  ],
  "src/schema/index.ts": [
    {
      original: "count > max",
      replacement: "false",
      reason: "Counting to the end takes longer and has the same result.",
    },
    {
      original: "max - count",
      replacement: "max + count",
      reason: "Counting to the end takes longer and has the same result.",
    },
    {
      original: "depth > DEFAULTS_DEPTH_MAX",
      replacement: "depth >= DEFAULTS_DEPTH_MAX",
      reason: "One level more or less does not matter.",
    },
    {
      original: "named === undefined",
      replacement: "false",
      reason: "Without a schema, no default is filled in either.",
    },
  ],
};

/** Whether a person has decided that no test needs to notice this mutant. */
export function judged({ place, original, replacement }: Survivor): boolean {
  const entries = JUDGED[place.replace(/:\d+$/, "")] ?? [];
  return entries.some((entry) => entry.original === original && entry.replacement === replacement);
}
