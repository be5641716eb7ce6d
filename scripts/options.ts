/** Writes docs/reference/options.md from the doc comments of the built package. */
import { writeFileSync } from "node:fs";
import { OPTIONS_FILE, optionsDocument } from "./api/options.ts";
import { readSurface } from "./api/surface.ts";

writeFileSync(OPTIONS_FILE, optionsDocument(readSurface()));
