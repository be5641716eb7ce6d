import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { importsOf } from "../../scripts/rooms.ts";

const FOLDER = join(import.meta.dirname, "../../src/client");

/** Packages and files that only one folder of the client may import, with that folder. */
const PLACES: Readonly<Record<string, string>> = {
  "@cfworker/json-schema": "validation",
  "schema/document.ts": "validation",
  oauth4webapi: "oauth",
};

test("the client imports only the rooms basics and protocol of core, the SSE parser, and others only where they belong", () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  expect(files.length).toBeGreaterThan(10);
  const outside = files.flatMap((file) => {
    const foreign = importsOf(readFileSync(join(FOLDER, file), "utf8")).map((specifier) =>
      specifier.startsWith(".") ? posix.join("client", posix.dirname(file), specifier) : specifier,
    );
    const isAllowed = (each: string) =>
      /^client\/|^core\/(basics|protocol)\/|^eventsource-parser$/.test(each) || PLACES[each] === posix.dirname(file);
    return foreign.filter((each) => !isAllowed(each)).map((each) => `${file}: ${each}`);
  });
  expect(outside).toEqual([]);
});
