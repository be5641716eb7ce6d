/** Stores the commit on which all tests have passed. `npm run test:all` writes it to node_modules, which belongs to no commit. */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Repository } from "./repository.ts";

const FILE = "node_modules/.cache/mcp-edge/tests.json";

interface Stored {
  readonly began?: string;
  readonly passed?: string;
}

/** Stores the commit on which the tests begin. A tree with changes is not a commit, so nothing is stored for it. */
export function beginTests(repository: Repository): void {
  write(repository, { ...read(repository), began: findCommit(repository) });
}

/** Stores that the tests have passed, if the tree is still the commit on which they began. */
export function passTests(repository: Repository): boolean {
  const { began } = read(repository);
  const isSame = began !== undefined && began === findCommit(repository);
  if (isSame) write(repository, { passed: began });
  return isSame;
}

/** Whether all tests have passed on the commit that is checked out. */
export function havePassed(repository: Repository): boolean {
  return read(repository).passed === repository.commit();
}

/** Returns the commit that is checked out; undefined if a file has changed, or the folder is a copy without a repository. */
function findCommit(repository: Repository): string | undefined {
  try {
    return repository.changes().length === 0 ? repository.commit() : undefined;
  } catch {
    return undefined;
  }
}

function read(repository: Repository): Stored {
  return repository.has(FILE) ? (JSON.parse(repository.read(FILE)) as Stored) : {};
}

function write(
  repository: Repository,
  stored: { readonly began?: string | undefined; readonly passed?: string },
): void {
  mkdirSync(dirname(join(repository.root, FILE)), { recursive: true });
  repository.write(FILE, JSON.stringify(stored));
}
