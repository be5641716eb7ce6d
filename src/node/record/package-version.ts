import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Returns the version of this package. */
export function packageVersion(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const found = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
        name?: string;
        version?: string;
      };
      if (found.name === "mcp-edge") return found.version ?? "";
    } catch {
      // No package.json in this folder.
    }
  }
  return "";
}
