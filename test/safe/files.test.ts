/** Files in a folder, with links, pipes and folders that change. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readFileWithin, resolveFile } from "../../src/node/index.ts";
import { RefusedError } from "../../src/safe/index.ts";

const top = realpathSync(mkdtempSync(join(tmpdir(), "files-")));
const root = join(top, "root");
const text = async (path: string) => {
  const bytes = await readFileWithin(root, path);
  return bytes && new TextDecoder().decode(bytes);
};

beforeAll(() => {
  mkdirSync(join(root, "folder"), { recursive: true });
  mkdirSync(join(top, "root2"));
  writeFileSync(join(root, "a.txt"), "a");
  writeFileSync(join(root, "folder/b c.txt"), "b");
  writeFileSync(join(root, "%41.txt"), "percent");
  writeFileSync(join(top, "secret"), "secret");
  writeFileSync(join(top, "root2/secret"), "secret");
  symlinkSync("folder/b c.txt", join(root, "inside"));
  symlinkSync("../secret", join(root, "outside"));
  symlinkSync(join(top, "root2"), join(root, "sibling"));
  symlinkSync("/", join(root, "top"));
  symlinkSync("missing", join(root, "dangling"));
  symlinkSync("loop", join(root, "loop"));
  execFileSync("mkfifo", [join(root, "pipe")]);
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

describe("readFileWithin", () => {
  test.each([
    ["a.txt", "a"],
    ["./folder//b c.txt", "b"],
    ["%41.txt", "percent"],
    ["inside", "b"],
  ])("reads %j", async (path, contents) => {
    expect(await text(path)).toBe(contents);
  });

  test.each(["missing", "a.txt/b", "dangling", "loop", `${"a".repeat(300)}`])("does not find %j", async (path) => {
    expect(await text(path)).toBeUndefined();
  });

  test.each([
    "../secret",
    "folder/../../secret",
    "/etc/passwd",
    "outside",
    "sibling/secret",
    "top/etc/passwd",
    "..%2fsecret",
    "a.txt\0",
    "folder",
    "",
    "pipe",
    "top/dev/null",
  ])("refuses %j", async (path) => {
    await expect(text(path)).rejects.toMatchObject({ reason: "path" });
  });

  test("limits the size of a file", async () => {
    writeFileSync(join(root, "large"), Buffer.alloc(1_001));
    expect(await readFileWithin(root, "large", { bytesMax: 1_001 })).toHaveLength(1_001);
    await expect(readFileWithin(root, "large", { bytesMax: 1_000 })).rejects.toMatchObject({ reason: "too-large" });
  });

  test("never returns a file outside of the folder while folders and links are swapped", {
    tags: "long",
    timeout: 60_000,
  }, async () => {
    mkdirSync(join(root, "swapped"));
    mkdirSync(join(top, "evil"));
    writeFileSync(join(root, "swapped/secret"), "public");
    writeFileSync(join(top, "evil/secret"), "secret");
    symlinkSync(join(top, "evil"), join(root, "link"));
    let isOver = false;
    const swap = async () => {
      while (!isOver) {
        renameSync(join(root, "swapped"), join(root, "kept"));
        renameSync(join(root, "link"), join(root, "swapped"));
        await new Promise(setImmediate);
        renameSync(join(root, "swapped"), join(root, "link"));
        renameSync(join(root, "kept"), join(root, "swapped"));
        await new Promise(setImmediate);
      }
    };
    const swapping = swap();
    const seen = new Set<string | undefined>();
    for (let times = 0; times < 3_000; times++) {
      seen.add(
        await text("swapped/secret").catch((error: unknown) => (error instanceof RefusedError ? "refused" : "error")),
      );
    }
    isOver = true;
    await swapping;
    expect(seen).toContain("public");
    expect(seen).not.toContain("secret");
  });
});

test("resolveFile returns real paths inside the root, for any path", async () => {
  expect(await resolveFile(root, "inside")).toBe(join(root, "folder/b c.txt"));
  expect(await resolveFile(root, "")).toBe(root);
  const names = fc.constantFrom(
    "folder",
    "inside",
    "outside",
    "sibling",
    "top",
    "..",
    ".",
    "a.txt",
    "etc",
    "%2e%2e",
    "secret",
    "passwd",
    "\\",
    "",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(names, { maxLength: 5 }), async (parts) => {
      const found = await resolveFile(root, parts.join("/")).catch((error: unknown) => {
        expect(error).toBeInstanceOf(RefusedError);
        return undefined;
      });
      if (found !== undefined) expect(`${found}/`.startsWith(`${root}/`)).toBe(true);
    }),
    { numRuns: 500 },
  );
});
