import { extname, join } from "node:path";

/** Returns the path of a module from this folder: TypeScript in the repository, JavaScript in the published package. */
export function moduleBeside(name: string): string {
  return join(import.meta.dirname, `${name}${extname(import.meta.filename)}`);
}
