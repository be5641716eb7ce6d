import { extname, join } from "node:path";

/** Returns the path of a module relative to this folder, which is TypeScript in the repository and JavaScript in the package. */
export function moduleBeside(name: string): string {
  return join(import.meta.dirname, `${name}${extname(import.meta.filename)}`);
}
