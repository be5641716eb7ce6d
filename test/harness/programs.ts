/** Programs that tests need and npm does not have. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * Returns the path of a program. If there is none, it is installed with Debian's package manager, so that no test is skipped.
 *
 * @param names The names under which it may be found. The first one is that of its Debian package.
 * @throws {Error} that says what to install, if that is not possible.
 */
export function findProgram(...names: readonly [string, ...string[]]): string {
  const found = search(names);
  if (found !== undefined) return found;
  const install = ["install", "-y", "--no-install-recommends", names[0]];
  try {
    execFileSync("apt-get", ["update"], { stdio: "ignore" });
    execFileSync("apt-get", install, { stdio: "ignore" });
  } catch (cause) {
    const text = `None of these programs was found: ${names.join(", ")}. Install one: apt-get ${install.join(" ")}`;
    throw new Error(text, { cause });
  }
  return search(names) ?? names[0];
}

function search(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
}
