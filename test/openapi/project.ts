/** A copy of the template `weather` for each test of a file, to which the command adds tools. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeEach } from "vitest";
import { cli } from "../cli/run.ts";

const TEMPLATE = join(import.meta.dirname, "../../templates/weather");

/** Creates a new project before each test of a file, and deletes all of them afterwards. */
export function useProjects() {
  const base = mkdtempSync(join(tmpdir(), "openapi-"));
  let project = "";
  let count = 0;
  beforeEach(() => {
    project = join(base, String(count++));
    cpSync(TEMPLATE, project, {
      recursive: true,
      filter: (path) => !/worker-configuration|node_modules|\.wrangler/.test(path),
    });
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));
  const at = (path: string) => join(project, path);
  return {
    /** Returns the path of a file or a folder of the project. */
    at,
    /** Runs `mcp-edge add openapi` in the project. */
    add: (...args: readonly string[]) => cli(["add", "openapi", ...args], { cwd: project }),
    read: (path: string) => readFileSync(at(path), "utf8"),
    write: (path: string, content: object | string) => {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), typeof content === "string" ? content : JSON.stringify(content));
    },
  };
}
