/**
 * Reads the local secrets of the Worker, so that they are redacted wherever they appear.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";

/** The maximum size of a file, in bytes. */
const FILE_BYTES_MAX = 256 * 1024;

/** The minimum length of a secret. Shorter values are usually flags or names of environments. */
const SECRET_LENGTH_MIN = 8;

/** Returns the values in `.dev.vars`, `.env` and `.env.local`, and in the files of the environment. */
export function readSecrets(folder: string, environment: string | undefined): readonly string[] {
  const names = [".dev.vars", ".env", ".env.local"];
  const all = environment === undefined ? names : [...names, `.dev.vars.${environment}`, `.env.${environment}`];
  return all.flatMap((name) => readValues(join(folder, name))).filter(({ length }) => length >= SECRET_LENGTH_MIN);
}

function readValues(path: string): readonly string[] {
  try {
    const text = readFileSync(path, "utf8");
    if (text.length > FILE_BYTES_MAX) return [];
    return Object.values(parseEnv(text)).filter((value) => value !== undefined);
  } catch {
    // There is no such file.
    return [];
  }
}
