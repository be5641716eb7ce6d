/** Finds public names and members without a doc comment. */
import type { Entry } from "./surface.ts";

export interface Coverage {
  /** One line for each name or member without a doc comment. */
  readonly missing: readonly string[];
  readonly names: number;
  readonly members: number;
}

/** Counts each declaration once, however many entries export it. */
export function coverageOf(entries: readonly Entry[]): Coverage {
  const names = new Map(entries.flatMap((entry) => entry.names.map((name) => [`${name.file} ${name.name}`, name])));
  const missing: string[] = [];
  let members = 0;
  for (const { file, name, doc, members: own } of names.values()) {
    const source = `src/${file.replace(/\.d\.ts$/, ".ts")}`;
    if (doc === "") missing.push(`${source}: ${name} has no doc comment`);
    for (const member of own)
      if (member.doc === "") missing.push(`${source}: ${name}.${member.name} has no doc comment`);
    members += own.length;
  }
  return { missing, names: names.size, members };
}
