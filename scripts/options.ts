/** Writes docs/reference/options.md and docs/reference/limits.md from the built package and the source. */
import { writeFileSync } from "node:fs";
import { LIMITS_FILE, limitsDocument } from "./api/limits.ts";
import { OPTIONS_FILE, optionsDocument } from "./api/options.ts";
import { readSurface } from "./api/surface.ts";

const surface = readSurface();
writeFileSync(OPTIONS_FILE, optionsDocument(surface));
writeFileSync(LIMITS_FILE, limitsDocument(surface));
