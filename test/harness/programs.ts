/** Programs that some tests need and npm does not have. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * Returns the path of a program. Tests install nothing.
 *
 * @param names The names under which it may be found. The first name is the name of its Debian package.
 * @throws {Error} that says what to install.
 */
export function findProgram(...names: readonly [string, ...string[]]): string {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Error(`Install ${names[0]} for this test: none of ${names.join(", ")} is on the path.`);
}
