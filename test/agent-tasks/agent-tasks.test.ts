// @module-tag long
/** The hidden checks of the tasks for coding agents: each accepts a correct solution, and names what is wrong in another one. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { judge } from "../../scripts/agent-tasks/judge.ts";
import { findTask, taskNames } from "../../scripts/agent-tasks/tasks.ts";
import { linkPackages } from "../docs/reader-project.ts";

let project: string;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "mcp-edge-solved-"));
  linkPackages(project);
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

const solve = (name: string) => cpSync(join(findTask(name).folder, "solution"), project, { recursive: true });

test.each(taskNames())("the check of %s accepts a correct solution", { timeout: 300_000 }, (name) => {
  solve(name);
  expect(judge(findTask(name), project)).toEqual({ isPassed: true, text: expect.stringContaining(`${name}: passed`) });
  expect(existsSync(join(project, ".agent-check"))).toBe(false);
});

/** Mistakes that an agent could make, each in the solution of a task, with the test that must fail. */
const MISTAKES = [
  {
    name: "01-units",
    mistake: "an Error instead of a ToolError",
    change: [/throw new ToolError/, "throw new Error"],
    failure: "units of different kinds",
  },
  {
    name: "04-booking",
    mistake: "a number for each run instead of a step",
    change: [/await ctx\.step\("number", \(\) => (.*)\);/, "$1;"],
    failure: "an answer that is sent twice",
  },
  {
    name: "10-report",
    mistake: "no steps",
    change: [/await ctx\.step\([\s\S]*?\n\s*\);/, "await send(topic, stage);"],
    failure: "does not repeat finished stages",
  },
] as const;
test.each(MISTAKES)("the check of $name notices $mistake", { timeout: 300_000 }, ({ name, change, failure }) => {
  solve(name);
  const file = join(project, "src/index.ts");
  const [from, to] = change;
  const text = readFileSync(file, "utf8");
  expect(text).toMatch(from);
  writeFileSync(file, text.replace(from, to));
  const judged = judge(findTask(name), project);
  expect(judged.isPassed).toBe(false);
  expect(judged.text).toContain(failure);
});

test("a folder without a server fails", () => {
  expect(judge(findTask("1"), project).text).toContain("The project has no wrangler.toml.");
});
