/** The skill of the package for coding agents: its installation, its format, and the documents that it names. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { readSkills } from "../../src/node/index.ts";
import { cli } from "../cli/run.ts";

const ROOT = join(import.meta.dirname, "../..");
const SKILLS = join(ROOT, "skills");

const base = mkdtempSync(join(tmpdir(), "mcp-edge-install-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));
let project: string;
let count = 0;
beforeEach(() => {
  project = join(base, String(count++));
  mkdirSync(project);
});

const install = (...args: readonly string[]) => cli(["skills", "--install", ...args], { cwd: project });
const filesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

test.each([
  { args: [], folder: ".claude/skills" },
  { args: [".agents/skills"], folder: ".agents/skills" },
])("the skill is copied into $folder, with all its files", async ({ args, folder }) => {
  const { code, stderr } = await install(...args);
  expect([code, stderr]).toEqual([0, `${folder}/mcp-edge: 3 of 3 files written\n`]);
  expect(filesOf(project)).toEqual(filesOf(SKILLS).map((file) => join(folder, file)));
  expect(readSkills(join(project, folder))).toEqual(readSkills(SKILLS));
});

test("an installed skill is updated, and is left alone if it is up to date", async () => {
  await install();
  expect((await install()).stderr).toBe(".claude/skills/mcp-edge: unchanged\n");
  const file = join(project, ".claude/skills/mcp-edge/references/checklist.md");
  writeFileSync(file, "an earlier version");
  expect((await install()).stderr).toBe(".claude/skills/mcp-edge: 1 of 3 files written\n");
  expect(readFileSync(file, "utf8")).toBe(readFileSync(join(SKILLS, "mcp-edge/references/checklist.md"), "utf8"));
});

test("another skill with the same name is not replaced", async () => {
  const file = join(project, ".claude/skills/mcp-edge/SKILL.md");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "---\nname: mcp-edge\ndescription: Mine.\n---\n");
  const { code, stderr } = await install();
  expect([code, stderr]).toEqual([2, expect.stringContaining("was not written by this command")]);
  expect(filesOf(project)).toEqual([".claude/skills/mcp-edge/SKILL.md"]);
  expect(readFileSync(file, "utf8")).toContain("Mine.");
});

test("a link that leads out of the project is refused", async () => {
  mkdirSync(join(project, "elsewhere"));
  mkdirSync(join(project, "project/.claude"), { recursive: true });
  symlinkSync(join(project, "elsewhere"), join(project, "project/.claude/skills"));
  const { code, stderr } = await cli(["skills", "--install"], { cwd: join(project, "project") });
  expect([code, stderr]).toEqual([2, expect.stringContaining("outside of this project")]);
  expect(filesOf(join(project, "elsewhere"))).toEqual([]);
});

test("a file of the user in the folder of the skill is not replaced, and nothing is written", async () => {
  const file = join(project, ".claude/skills/mcp-edge/references/documents.md");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "Mine.");
  const { code, stderr } = await install();
  expect([code, stderr]).toEqual([2, expect.stringContaining("was not written by this command")]);
  expect(filesOf(project)).toEqual([".claude/skills/mcp-edge/references/documents.md"]);
});

test.each([
  { link: "references/checklist.md", to: "private.txt" },
  { link: "references/documents.md", to: "missing.txt" },
  { link: "references", to: "notes" },
  { link: "SKILL.md", to: "private.txt" },
])("a link $link in the skill is refused, even if it leads to $to in the project", async ({ link, to }) => {
  await install();
  const mine = `${readFileSync(join(project, ".claude/skills/mcp-edge/SKILL.md"), "utf8")}Mine.`;
  mkdirSync(join(project, "notes"));
  writeFileSync(join(project, "notes/checklist.md"), mine);
  writeFileSync(join(project, "private.txt"), mine);
  const place = join(project, ".claude/skills/mcp-edge", link);
  rmSync(place, { recursive: true });
  symlinkSync(join(project, to), place);
  const { code, stderr } = await install();
  expect([code, stderr]).toEqual([2, expect.stringContaining(`${link} is a link`)]);
  const files = ["private.txt", "notes/checklist.md"].map((file) => readFileSync(join(project, file), "utf8"));
  expect(files).toEqual([mine, mine]);
  expect(existsSync(join(project, "missing.txt"))).toBe(false);
});

test("the folder of the skill may be a link to another folder of the project", async () => {
  mkdirSync(join(project, ".agents/skills/mcp-edge"), { recursive: true });
  mkdirSync(join(project, ".claude/skills"), { recursive: true });
  symlinkSync("../../.agents/skills/mcp-edge", join(project, ".claude/skills/mcp-edge"));
  expect((await install()).code).toBe(0);
  expect(readSkills(join(project, ".agents/skills"))).toEqual(readSkills(SKILLS));
});

test("a skill whose lines git has ended with CR and LF is updated", async () => {
  await install();
  const file = join(project, ".claude/skills/mcp-edge/SKILL.md");
  writeFileSync(file, readFileSync(file, "utf8").replaceAll("\n", "\r\n"));
  expect((await install()).stderr).toBe(".claude/skills/mcp-edge: 1 of 3 files written\n");
});

test("the skill can be served by a server, as any other skill", async () => {
  const { code, stderr } = await cli(["skills", SKILLS, "--out", "skills.ts"], { cwd: project });
  expect([code, stderr]).toEqual([0, expect.stringContaining("1 skills, 3 files")]);
});

const texts = filesOf(SKILLS).map((file) => readFileSync(join(SKILLS, file), "utf8"));
const instructions = readFileSync(join(ROOT, "src/cli/commands/new/shared/AGENTS.md"), "utf8");
const named = [
  ...[...texts, instructions].flatMap((text) => [...text.matchAll(/node_modules\/mcp-edge\/(docs[\w./-]*)/g)]),
  ...texts.flatMap((text) => [...text.matchAll(/`((?:guides|recipes|concepts|tutorial|reference)\/[\w./-]+\.\w+)`/g)]),
].map(([, path = ""]) => (path.startsWith("docs") ? path : `docs/${path}`));

test("every document that the skill and AGENTS.md name is in the package", () => {
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !path.includes("ENTRY") && !existsSync(join(ROOT, path)))).toEqual([]);
});

test("AGENTS.md, the skill and the guide for agents name the same three mistakes", () => {
  const guide = readFileSync(join(ROOT, "docs/for-agents.md"), "utf8");
  const mistakes = (text: string) => [...text.matchAll(/^\d\. \*\*(.+)\*\*/gm)].map(([, title]) => title);
  expect(mistakes(guide)).toHaveLength(3);
  expect(mistakes(instructions)).toEqual(mistakes(guide));
  expect(mistakes(texts[0] ?? "")).toEqual(mistakes(guide));
});
