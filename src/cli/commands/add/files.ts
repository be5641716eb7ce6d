/**
 * The files that parts add to a project. Their sources are in the folder `parts` beside this file, and in the template `app`.
 *
 * @module
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CliError, Exit } from "../../exit.ts";

/** The folder that the build creates. The path is the same from src/ and from dist/. */
const FOLDER = join(import.meta.dirname, "../../../../dist");

/** The files in `parts`. */
type PartFile =
  | "files.test.ts"
  | "local-files.ts"
  | "notes.ts"
  | "recorder.ts"
  | "report.ts"
  | "session.test.ts"
  | "sort-report.ts"
  | "vitest.config.ts"
  | "wrangler.recorder.toml"
  | "app-view.ts"
  | "view-html.ts"
  | "view/main.ts"
  | "view/view.html";

/** Returns the text of a file. @throws {CliError} if the package was not built. */
export function partFile(name: PartFile): string {
  return read("parts", name);
}

/** Returns the text of a file of the template `app` that is not specific to its view. @throws {CliError} if it was not built. */
export function viewFile(name: "bridge.ts" | "build.ts" | "tsconfig.json"): string {
  return read("templates/app/view", name);
}

function read(folder: string, name: string): string {
  const path = join(FOLDER, folder, name);
  if (existsSync(path)) return readFileSync(path, "utf8");
  throw new CliError(Exit.serverError, "This copy of mcp-edge has no parts. In a clone, run: npm run build");
}
