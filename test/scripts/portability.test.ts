import { describe, expect, test } from "vitest";
import { findUnportable } from "../../scripts/portability.ts";

describe("code that is reported", () => {
  test.each([
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the checked code contains templates.
    ["`${folder}/package.json`", "join()"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the checked code contains templates.
    ["`${this.#stateFolder}/x`", "join()"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the checked code contains templates.
    ["`${process.cwd()}/x`", "join()"],
    ['tmpdir() + "/a"', "join()"],
    ["new URL(import.meta.url).pathname", "fileURLToPath()"],
    ["process.env.HOME", "homedir()"],
    ['writeFileSync("/tmp/a", "")', "tmpdir()"],
    ["spawn(program, args, { shell: true })", "findProgram(), which needs no shell"],
    ['execFileSync("npm", ["pack"])', "findProgram()"],
    ['spawn("npx", args)', "findProgram()"],
  ])("%s", (line, instead) => {
    expect(findUnportable("a.ts", line)).toEqual([expect.stringContaining(`a.ts:1: use ${instead}`)]);
  });
});

describe("code that is not reported", () => {
  test.each([
    'join(folder, "package.json")',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the checked code contains templates.
    "`${origin}/mcp`",
    'spawn(process.execPath, ["a.js"])',
    "// spawn(program, { shell: true })",
    " * `/tmp`",
    "findProgram('npm', args)",
  ])("%s", (line) => {
    expect(findUnportable("a.ts", line)).toEqual([]);
  });
});
