/** Reading a folder of skills, and the command that writes it as a module. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { readSkills } from "../../src/node/index.ts";
import { cli } from "../cli/run.ts";
import { IMAGE, REFUNDS, SKILLS, writeFolder } from "./folder.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = writeFolder(files);
  folders.push(folder);
  return folder;
}

describe("a folder of skills", () => {
  test("is read with all files of each skill, including the files of nested skills", () => {
    const skills = readSkills(folderOf(SKILLS));
    expect(skills.map(({ path, files }) => [path, files.map((file) => file.path)])).toEqual([
      [
        "acme/refunds",
        ["SKILL.md", "disputes/SKILL.md", "references/LIMITS.md", "templates/a b.md", "templates/logo.png"],
      ],
      ["acme/refunds/disputes", ["SKILL.md"]],
      ["git-workflow", ["SKILL.md"]],
    ]);
    expect(skills[0]?.frontmatter).toEqual({
      name: "refunds",
      description: "Processes customer refunds.",
      license: "Apache-2.0",
      metadata: { version: "2.1" },
    });
  });

  test("is read as text if the text has the same bytes, and otherwise as base64", () => {
    const files = readSkills(folderOf(SKILLS))[0]?.files ?? [];
    expect(files[0]).toMatchObject({ mimeType: "text/markdown", text: REFUNDS, size: REFUNDS.length });
    expect(files[3]).toMatchObject({ mimeType: "text/markdown", text: "\ufeffDear customer,\r\n", size: 19 });
    const image = { mimeType: "image/png", size: 7, base64: Buffer.from(IMAGE).toString("base64") };
    expect(files[4]).toEqual({
      path: "templates/logo.png",
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      ...image,
    });
  });

  const manifest = (name: string, more = "") => `---\nname: ${name}\ndescription: Test.\n${more}---\n`;
  test.each([
    ["no skill", { "SKILL.md": REFUNDS }, "no folder in it has a SKILL.md"],
    ["no frontmatter", { "a/SKILL.md": "# A\n" }, "it does not begin with frontmatter between two lines ---"],
    ["frontmatter that cannot be read", { "a/SKILL.md": "---\nname: &x a\n---\n" }, "its frontmatter cannot be read"],
    ["no description", { "a/SKILL.md": "---\nname: a\n---\n" }, "its frontmatter has no name or no description"],
    ["a name that is not that of its folder", { "b/SKILL.md": manifest("a") }, 'its folder is not named "a"'],
    ["a name that is not allowed", { "A/SKILL.md": manifest("A") }, 'its name "A" is not a skill name'],
    [
      "too many files",
      Object.fromEntries([
        ["a/SKILL.md", manifest("a")],
        ...Array.from({ length: 512 }, (_, number) => [`a/${number}.md`, ""]),
      ]),
      "it has more than 512 files",
    ],
    [
      "too many bytes",
      { "a/SKILL.md": manifest("a"), "a/data.bin": new Uint8Array(16 * 1024 * 1024) },
      "its files have more than 16 MiB",
    ],
  ])("is refused with %s", (_, files, problem) => {
    const folder = folderOf(files as Record<string, string>);
    expect(() => readSkills(folder)).toThrow(problem);
    expect(() => readSkills(folder)).toThrow(folder);
  });

  test("is read up to the limit of 512 files", () => {
    const more = Array.from({ length: 511 }, (_, number) => [`a/${number}.md`, ""]);
    const files = Object.fromEntries([["a/SKILL.md", manifest("a")], ...more]);
    expect(readSkills(folderOf(files))[0]?.files).toHaveLength(512);
  });

  test("is refused with a symbolic link, which could point to any file", () => {
    const folder = folderOf({ "a/SKILL.md": manifest("a") });
    symlinkSync("/etc/hostname", join(folder, "a/host"));
    expect(() => readSkills(folder)).toThrow("a/host: it is a symbolic link or a device; only files are served.");
  });
});

describe("mcp-edge skills", () => {
  test("writes a module, and reports whether it is up to date", { timeout: 60_000 }, async () => {
    const cwd = folderOf({});
    mkdirSync(join(cwd, "src"));
    mkdirSync(join(cwd, "skills/a"), { recursive: true });
    const manifestFile = join(cwd, "skills/a/SKILL.md");
    writeFileSync(manifestFile, manifestText("One."));
    const written = await cli(["skills"], { cwd });
    expect(written).toMatchObject({ code: 0, stdout: "", stderr: "src/skills.ts: 1 skills, 1 files, 0.0 KiB\n" });
    const { skills } = await import(join(cwd, "src/skills.ts"));
    expect(skills).toEqual(readSkills(join(cwd, "skills")));
    expect(await cli(["skills", "--check"], { cwd })).toMatchObject({ code: 0 });
    writeFileSync(manifestFile, manifestText("Two."));
    const stale = await cli(["skills", "--check"], { cwd });
    expect(stale.stderr).toBe("src/skills.ts is not up to date. Run mcp-edge skills skills --out src/skills.ts.\n");
    expect(stale.code).toBe(3);
    expect(await cli(["skills"], { cwd })).toMatchObject({ code: 0 });
    expect(readFileSync(join(cwd, "src/skills.ts"), "utf8")).toContain("Two.");
  });

  test("does not overwrite a file that it has not written, and reports a folder that does not exist", {
    timeout: 60_000,
  }, async () => {
    const cwd = folderOf({ "skills/a/SKILL.md": manifestText("One."), "mine.ts": "export {};\n" });
    const refused = await cli(["skills", "--out", "mine.ts"], { cwd });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("mine.ts exists and was not generated by this command");
    expect(readFileSync(join(cwd, "mine.ts"), "utf8")).toBe("export {};\n");
    const missing = await cli(["skills", "nowhere"], { cwd });
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain("nowhere is not a folder");
  });
});

function manifestText(body: string): string {
  return `---\nname: a\ndescription: Test.\n---\n${body}\n`;
}
