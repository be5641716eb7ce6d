/**
 * The configuration of the project in the current folder, if it is a project with mcp-edge.
 *
 * @module
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../../../core/protocol/jsonrpc.ts";
import { findConfigProblems } from "../../../node/check-config.ts";
import type { Diagnosis } from "./diagnosis.ts";

/** Checks the project in a folder like `mcp-edge check-config`, and adds its problems to the report. */
export async function checkProject(folder: string, diagnosis: Diagnosis): Promise<void> {
  if (!isProject(folder)) return;
  const found = await findConfigProblems(folder, {});
  // A project without a configuration of wrangler runs on Node.
  if ("failure" in found) return;
  for (const { code, text, place, lines = [], isOptional } of found.missing) {
    diagnosis.add({
      id: `config-${code}`,
      step: "project",
      severity: isOptional ? "note" : "breaks",
      fault: "configuration",
      what: text,
      fix: place === undefined ? "Change it as described." : `${place}: ${lines.join("\n")}`,
    });
  }
}

/** Whether the package in a folder depends on mcp-edge. */
function isProject(folder: string): boolean {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return false;
  try {
    const manifest: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (!isObject(manifest)) return false;
    return ["dependencies", "devDependencies"].some((each) => {
      const list = manifest[each];
      return isObject(list) && "mcp-edge" in list;
    });
  } catch {
    // An invalid file is not the manifest of a project.
    return false;
  }
}
