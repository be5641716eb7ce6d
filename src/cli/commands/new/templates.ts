/**
 * The templates in the package.
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CliError, Exit, usageError } from "../../exit.ts";
import { didYouMean } from "../../names.ts";

/** The folder that the build creates. The path is the same from src/ and from dist/. */
const FOLDER = join(import.meta.dirname, "../../../../dist/templates");

/** A template for a new project. */
export interface Template {
  readonly name: string;
  /** Its purpose, in one line. */
  readonly description: string;
  /** The folder with its files, in which `.gitignore` is named `_gitignore`. */
  readonly folder: string;
}

/** Returns all templates. @throws {CliError} if the package was not built. */
export function readTemplates(): Template[] {
  if (!existsSync(FOLDER)) {
    throw new CliError(Exit.serverError, "This copy of mcp-edge has no templates. In a clone, run: npm run build");
  }
  return readdirSync(FOLDER).map((name) => {
    const folder = join(FOLDER, name);
    const { description = "" } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      description?: string;
    };
    return { name, description, folder };
  });
}

/** Returns the template with a name. @throws {CliError} naming the known templates. */
export function findTemplate(name: string, templates: readonly Template[]): Template {
  const found = templates.find((each) => each.name === name);
  if (found) return found;
  const hint = didYouMean(
    name,
    templates.map((each) => each.name),
  );
  throw usageError(`There is no template ${JSON.stringify(name)}.${hint}`);
}
