/** Writes docs/reference/options.md and docs/reference/limits.md from the built package and the source, and the tables of docs/architecture.md and docs/facts.md. */
import { readFileSync, writeFileSync } from "node:fs";
import { LIMITS_FILE, limitsDocument } from "./api/limits.ts";
import { OPTIONS_FILE, optionsDocument } from "./api/options.ts";
import { readSurface } from "./api/surface.ts";
import { FACTS_FILE, withPackages } from "./dependencies.ts";
import { ARCHITECTURE_FILE, withTables } from "./rooms-table.ts";

writeFileSync(ARCHITECTURE_FILE, withTables(readFileSync(ARCHITECTURE_FILE, "utf8")));
writeFileSync(FACTS_FILE, withPackages(readFileSync(FACTS_FILE, "utf8")));
const surface = readSurface();
writeFileSync(OPTIONS_FILE, optionsDocument(surface));
writeFileSync(LIMITS_FILE, limitsDocument(surface));
