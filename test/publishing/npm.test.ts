import { expect, test } from "vitest";
import { npm } from "../../scripts/npm.ts";

test("npm is started without a shell, except on Windows, where it is a batch file", () => {
  expect(npm(["pack", "a b"], "linux")).toEqual({ command: "npm", args: ["pack", "a b"], options: { shell: false } });
  expect(npm(["pack", "a b"], "darwin").command).toBe("npm");
  expect(npm(["pack", "C:\\a b\\c"], "win32")).toEqual({
    command: "npm.cmd",
    args: ["pack", '"C:\\a b\\c"'],
    options: { shell: true },
  });
});

test("an argument that the shell of Windows would interpret is refused", () => {
  for (const argument of ['a"b', "%PATH%", "a&b", "a|b", "a>b", "a^b", "a!b"]) {
    expect(() => npm([argument], "win32"), argument).toThrow("cannot be passed to a batch file");
  }
});
