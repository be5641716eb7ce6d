/**
 * Merges newly generated files with the current files of a project.
 *
 * @module
 */
import type { Generated, GeneratedFile } from "./project.ts";
import { type Conflict, conflictOf, type FileRecord, merge, recordOf, regionsOf, withoutRegions } from "./regions.ts";

/** The current files of a project, and what was generated before. */
export interface Before {
  /** The current texts of generated files, by path. */
  readonly present?: Readonly<Record<string, string>>;
  readonly records?: Readonly<Record<string, FileRecord>>;
}

/** A part of a file that both the author and the API have changed. */
type FileConflict = Conflict & { readonly path: string };

/** Merges each generated file with the current one, and records what was generated. */
export function mergeAll({ files, secrets, functionName }: Generated, { present = {}, records = {} }: Before): object {
  const before = { present, records };
  const deleted = deletedRegions(before);
  const moved = movedRegions(files, before);
  const conflicts = [...moved.values()].flatMap(({ conflict }) => conflict ?? []);
  const orphans: string[] = [];
  const wanted = files.map((file) => {
    return isTest(file) ? { ...file, text: withoutRegions(file.text, deleted) } : file;
  });
  const merged = wanted.map((file) => {
    const { path } = file;
    const [own, record] = [present[path], records[path]];
    const withheld = regionsOf(file.text).filter((name) => {
      const isNew = record === undefined || !Object.hasOwn(record.regions, name);
      return isNew && !isTest(file) && (deleted.has(name) || moved.has(name));
    });
    const text = withoutRegions(file.text, new Set(withheld));
    if (own === undefined || record === undefined) return { path, text };
    const outcome = merge(own, text, record);
    conflicts.push(...outcome.conflicts.map((conflict) => ({ path, ...conflict })));
    const lost = outcome.orphans.filter((region) => moved.get(region)?.path !== path);
    orphans.push(...lost.map((region) => `${path}: ${region}`));
    return { path, text: outcome.text };
  });
  // Regions that were withheld are recorded too, so that they stay deleted in a file without them.
  const recorded = Object.fromEntries(wanted.map(({ path, text }) => [path, recordOf(text)]));
  return { files: merged, records: recorded, conflicts, orphans, secrets, functionName };
}

function isTest({ path }: GeneratedFile): boolean {
  return path.startsWith("test/");
}

/** Returns the regions of tools that the author has deleted from all files. Their test cases are removed too. */
function deletedRegions({ present, records }: Required<Before>): ReadonlySet<string> {
  const recorded = Object.entries(records).filter(([path]) => path.startsWith("src/"));
  const left = new Set(recorded.flatMap(([path]) => regionsOf(present[path] ?? "")));
  return new Set(recorded.flatMap(([, { regions }]) => Object.keys(regions)).filter((name) => !left.has(name)));
}

/** A changed region whose operation now belongs to another file. */
interface Moved {
  /** The file that has it. */
  readonly path: string;
  readonly conflict: FileConflict | undefined;
}

/**
 * Finds the regions that the author has changed, and whose operations have another tag now. They stay where they are: generated in the
 * other file too, the server would have two tools of one name.
 */
function movedRegions(files: readonly GeneratedFile[], { present, records }: Required<Before>): Map<string, Moved> {
  const moved = new Map<string, Moved>();
  const fresh = files.filter((file) => !isTest(file));
  for (const { path, text } of fresh) {
    const [own, record] = [present[path], records[path]];
    if (own === undefined || record === undefined) continue;
    const names = new Set(regionsOf(text));
    for (const region of regionsOf(own).filter((name) => !names.has(name) && Object.hasOwn(record.regions, name))) {
      const other = fresh.find((file) => regionsOf(file.text).includes(region));
      const outcome =
        other === undefined ? undefined : conflictOf(region, { present: own, generated: other.text, record });
      if (outcome?.isChanged !== true) continue;
      moved.set(region, { path, conflict: outcome.conflict && { path, ...outcome.conflict } });
    }
  }
  return moved;
}
