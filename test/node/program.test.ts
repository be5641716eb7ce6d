/** How programs are started on Windows. The tests pass the name of the system and the files, so they run everywhere. */
import { describe, expect, test } from "vitest";
import { findProgram, type Surroundings } from "../../src/node/program.ts";

const FILES = [
  "C:\\Program Files\\nodejs\\node.exe",
  "C:\\Program Files\\nodejs\\npx.cmd",
  "C:\\Program Files\\nodejs\\npx",
  "D:\\work\\npx.cmd",
  "D:\\work\\tools\\run.bat",
  "C:\\tools\\uvx.exe",
];
const ENV = {
  Path: 'C:\\Windows;"C:\\Program Files\\nodejs";;C:\\tools',
  PATHEXT: ".COM;.EXE;.BAT;.CMD",
  ComSpec: "C:\\Windows\\system32\\cmd.exe",
};
const WINDOWS: Surroundings = { platform: "win32", cwd: "D:\\work", env: ENV, isFile: (path) => FILES.includes(path) };

/** The line that cmd.exe gets. */
function lineOf(command: string, ...args: readonly string[]): string {
  const program = findProgram(command, args, WINDOWS);
  expect(program).toMatchObject({ command: ENV.ComSpec, windowsVerbatimArguments: true });
  expect(program.args.slice(0, -1)).toEqual(["/d", "/v:off", "/s", "/c"]);
  return program.args.at(-1) ?? "";
}

test("a program is started unchanged on other systems", () => {
  for (const platform of ["linux", "darwin"]) {
    expect(findProgram("npx", ["a b", '"', "%PATH%"], { ...WINDOWS, platform })).toEqual({
      command: "npx",
      args: ["a b", '"', "%PATH%"],
    });
  }
});

describe("on Windows", () => {
  test.each(["node", "node.exe", "uvx", "C:\\tools\\uvx.exe", "none"])("%s is started unchanged", (command) => {
    expect(findProgram(command, ["a&b"], WINDOWS)).toEqual({ command, args: ["a&b"] });
  });

  test("npx is started by cmd.exe, from PATH and not from the current folder", () => {
    expect(lineOf("npx", "-y", "server")).toBe('""C:\\Program Files\\nodejs\\npx.cmd" "-y" "server""');
    expect(lineOf("npx.cmd", "-y")).toBe('""C:\\Program Files\\nodejs\\npx.cmd" "-y""');
  });

  test("a batch file with a path is looked for in the folder of the program", () => {
    expect(lineOf("tools\\run")).toBe('""D:\\work\\tools\\run.bat""');
    expect(lineOf("./tools/run.bat")).toBe('""D:\\work\\tools\\run.bat""');
  });

  test("characters with a meaning for cmd.exe stay between quotes", () => {
    const url = "https://a.example/?a=1&b=%20c|d>e^f!g (h)";
    expect(lineOf("npx", url, "")).toBe(`""C:\\Program Files\\nodejs\\npx.cmd" "${url}" """`);
  });

  test("a backslash at the end does not escape the closing quote", () => {
    expect(lineOf("npx", "C:\\a b\\")).toContain('"C:\\a b\\\\""');
  });

  test.each(['a"b', "a\nb", "a\rb", "a\0b", "%PATH%", "x%path%y", "%Path:~0,1%", "%%Path%", "%CD%", "a%b%path%"])(
    "an argument that cmd.exe would change is refused: %j",
    (argument) => {
      expect(() => findProgram("npx", [argument], WINDOWS)).toThrow("cannot be passed to a batch file");
    },
  );

  test("a percent sign that names no variable is passed on", () => {
    expect(lineOf("npx", "100%", "a%20b%20c")).toContain('"100%" "a%20b%20c"');
  });

  test("without PATHEXT and COMSPEC, the usual values are used", () => {
    const { Path } = ENV;
    expect(findProgram("npx", [], { ...WINDOWS, env: { Path } })).toMatchObject({ command: "cmd.exe" });
  });
});
