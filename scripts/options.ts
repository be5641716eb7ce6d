/**
 * Writes docs/reference/options.md and docs/reference/limits.md from the built package and the source, the tables of
 * docs/architecture.md and docs/facts.md, and the facts about hosts in docs/hosts.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { LIMITS_FILE, limitsDocument } from "./api/limits.ts";
import { OPTIONS_FILE, optionsDocument } from "./api/options.ts";
import { readSurface } from "./api/surface.ts";
import { FACTS_FILE, withPackages } from "./dependencies.ts";
import { documentsWithParts, withParts } from "./host-pages.ts";
import { ARCHITECTURE_FILE, withTables } from "./rooms-table.ts";
import { ROOT } from "./tools.ts";

for (const file of documentsWithParts()) {
  writeFileSync(`${ROOT}${file}`, withParts(file, readFileSync(`${ROOT}${file}`, "utf8")));
}
writeFileSync(ARCHITECTURE_FILE, withTables(readFileSync(ARCHITECTURE_FILE, "utf8")));
writeFileSync(FACTS_FILE, withPackages(readFileSync(FACTS_FILE, "utf8")));
const surface = readSurface();
writeFileSync(OPTIONS_FILE, optionsDocument(surface));
writeFileSync(LIMITS_FILE, limitsDocument(surface));
