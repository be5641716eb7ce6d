import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importsOf } from "../../scripts/rooms.ts";

const FOLDER = join(import.meta.dirname, "../../src/client");

test("of core, the client imports only the protocol room, and of packages only the SSE parser", () => {
  const files = readdirSync(FOLDER);
  expect(files.length).toBeGreaterThan(10);
  const foreign = files.flatMap((file) => importsOf(readFileSync(join(FOLDER, file), "utf8")));
  const outside = foreign.filter((each) => !/^\.\/|^\.\.\/core\/protocol\/|^eventsource-parser$/.test(each));
  expect(outside).toEqual([]);
});
