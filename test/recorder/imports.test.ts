import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { importsOf } from "../../scripts/rooms.ts";

const FOLDER = join(import.meta.dirname, "../../src/recorder");

test("the recorder imports only core/basics and core/protocol, and no packages", () => {
  const all = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  // A separate room, which only runs in Workers.
  const files = all.filter((file) => !/^worker./.test(file));
  expect(files.length).toBeGreaterThan(10);
  const outside = files.flatMap((file) => {
    const imports = importsOf(readFileSync(join(FOLDER, file), "utf8")).map((specifier) =>
      specifier.startsWith(".") ? posix.join("recorder", posix.dirname(file), specifier) : specifier,
    );
    return imports
      .filter((each) => !/^recorder\/|^core\/(basics|protocol)\//.test(each))
      .map((each) => `${file}: ${each}`);
  });
  expect(outside).toEqual([]);
});
