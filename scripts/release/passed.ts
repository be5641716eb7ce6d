/** Which commit all tests have passed on. `npm run test:all` stores it in node_modules, which belongs to no commit. */
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
  const began = repository.changes().length === 0 ? { began: repository.commit() } : {};
  write(repository, { ...read(repository), began: undefined, ...began });
}

/** Stores that the tests have passed, if the tree is still the commit on which they began. */
export function passTests(repository: Repository): boolean {
  const { began } = read(repository);
  const isSame = began !== undefined && began === repository.commit() && repository.changes().length === 0;
  if (isSame) write(repository, { passed: began });
  return isSame;
}

/** Whether all tests have passed on the commit that is checked out. */
export function havePassed(repository: Repository): boolean {
  return read(repository).passed === repository.commit();
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
