/** Small servers in every form that is migrated, in the folder `forms`, and what they are migrated to, in `migrated`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { migrate, type Outcome, type TextFile } from "../../packages/migrate/src/migrate.ts";

export const FORMS: string = join(import.meta.dirname, "forms");
export const MIGRATED: string = join(import.meta.dirname, "migrated");

/** The names of the forms. */
export function formNames(): string[] {
  return readdirSync(FORMS).sort();
}

/** Reads the files of a form. */
export function readForm(name: string): TextFile[] {
  return readdirSync(join(FORMS, name)).map((path) => ({ path, text: readFileSync(join(FORMS, name, path), "utf8") }));
}

/** Migrates one file that is given as text. */
export function migrateText(text: string, path = "server.ts"): { readonly text: string; readonly outcome: Outcome } {
  const outcome = migrate([{ path, text }], "0.1.0");
  return { text: outcome.changes.find((change) => change.path === path)?.after ?? text, outcome };
}
