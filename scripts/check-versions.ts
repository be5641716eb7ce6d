/** Reports code in src that names a protocol version outside the tables of versions. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryFiles } from "./references.ts";
import { ROOT } from "./tools.ts";
import { findUnusedNaming, findVersionNames } from "./version-names.ts";

const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const files = repositoryFiles().filter((file) => /^src\/.*\.tsx?$/.test(file));
const problems = [...files.flatMap((file) => findVersionNames(file, read(file))), ...findUnusedNaming(read)];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
