/**
 * The files that parts add to a project. They are in the folder `parts` of the repository.
 *
 * @module
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CliError, Exit } from "../exit.ts";

/** The folder that the build fills; the same from src/ and from dist/. */
const FOLDER = join(import.meta.dirname, "../../../dist/parts");

/** Returns the text of a file. @throws {CliError} if the package has none. */
export function partFile(name: "notes.ts" | "report.ts" | "session.test.ts" | "vitest.config.ts"): string {
  const path = join(FOLDER, name);
  if (existsSync(path)) return readFileSync(path, "utf8");
  throw new CliError(Exit.serverError, "This copy of mcp-edge has no parts. In a clone, run: npm run build");
}
