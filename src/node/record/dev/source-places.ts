/**
 * Maps the positions in a stack to the source, with the source map that wrangler writes beside the bundle.
 *
 * @module
 */
import { readFileSync, statSync } from "node:fs";
import { SourceMap, type SourceMapPayload, type SourceMapping } from "node:module";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The maximum size of a source map that is read, in bytes. */
const MAP_BYTES_MAX = 64 * 1024 * 1024;

/** The maximum number of cached source maps. */
const KEPT_MAX = 8;

/** Matches a position in a bundle. */
const PLACE = /(file:\/\/[^\s()]+):(\d+):(\d+)/g;

/** Returns a function that maps the positions in a stack to the source. Paths are relative to `folder`. */
export function createPlaces(folder: string): (stack: string) => string {
  const kept = new Map<string, { readonly mtimeMs: number; readonly map: SourceMap | undefined }>();
  const mapOf = (file: string): SourceMap | undefined => {
    const path = `${file}.map`;
    const { mtimeMs = 0, size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    const known = kept.get(path);
    if (known?.mtimeMs === mtimeMs) return known.map;
    const map = size > 0 && size <= MAP_BYTES_MAX ? readMap(path) : undefined;
    if (kept.size >= KEPT_MAX) kept.clear();
    kept.set(path, { mtimeMs, map });
    return map;
  };
  return (stack) =>
    stack.replace(PLACE, (place, url: string, line: string, column: string) => {
      const file = toPath(url);
      if (file === undefined) return place;
      // For unknown positions, `findEntry` returns an empty object.
      const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1) as Partial<SourceMapping> | undefined;
      if (entry?.originalSource === undefined) return place;
      const { originalSource, originalLine = 0, originalColumn = 0 } = entry;
      const source = resolve(dirname(file), toPath(originalSource) ?? originalSource);
      return `${relative(folder, source)}:${originalLine + 1}:${originalColumn + 1}`;
    });
}

function readMap(path: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, "utf8")) as SourceMapPayload);
  } catch {
    // The file is being written.
    return undefined;
  }
}

function toPath(url: string): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    // It is not a file URL.
    return undefined;
  }
}
