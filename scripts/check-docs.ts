/** Refuses public names and members without a doc comment. Reads the built package: run `npm run build` first. */
import { readSurface } from "./api/surface.ts";
import { coverageOf } from "./api/undocumented.ts";

const { missing } = coverageOf(readSurface());
for (const problem of missing) console.error(problem);
process.exitCode = missing.length > 0 ? 1 : 0;
