import { expect, test } from "vitest";
import { PROGRAMS, sizeOf } from "../../scripts/size-of.ts";

/**
 * The current size of each program in KiB, minified and gzipped, to within half a KiB (compressors differ by a few
 * bytes). A change that makes one larger changes this number on purpose; the budget is in scripts/size-of.ts.
 */
const NOW: Readonly<Record<string, number>> = {
  "test/size/stateless.ts": 33.5,
  "test/size/sessions.ts": 58.7,
  "test/size/durable.ts": 76.9,
};

test.each(PROGRAMS)("$name is within its budget and has the recorded size", async ({ entry, gzipKibMax }) => {
  const { gzip } = await sizeOf(entry);
  expect(gzip / 1024).toBeLessThanOrEqual(gzipKibMax);
  expect(Math.abs(gzip / 1024 - (NOW[entry] ?? 0))).toBeLessThan(0.5);
});

test("a program that does not import sessions bundles none of their code", async () => {
  const { modules } = await sizeOf("test/size/stateless.ts");
  expect(modules.filter((path) => path.startsWith("src/worker/sessions/"))).toEqual([]);
  expect(modules).toContain("src/worker/edge.ts");
});

test("no program bundles code for Node, or a JSON Schema validator that it did not import", async () => {
  const { modules } = await sizeOf("test/size/sessions.ts");
  expect(modules.filter((path) => path.startsWith("src/node/") || path.startsWith("src/schema/"))).toEqual([]);
  expect(modules).toContain("src/worker/sessions/session-object.ts");
});
