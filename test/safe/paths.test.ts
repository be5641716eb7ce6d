/** Untrusted paths and URIs that must stay inside a root. */
import { posix, win32 } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { joinPath, joinUri, RefusedError, resolveUri } from "../../src/safe/index.ts";

/** Pieces of which hostile paths are made. */
const PIECES = [
  "..",
  ".",
  "/",
  "\\",
  "%2e",
  "%2E%2e",
  "%252e",
  "%2f",
  "%5c",
  "%00",
  "\0",
  "a",
  "é",
  "%",
  "%25",
  "．",
  "／",
  "‥",
  "％",
  "2",
  "e",
  "\u0307",
  "%e2%80%a5",
  "%ef%bc%8f",
  "%ef%bc%85",
  "%25",
  " ",
  "C:",
  "%c0%ae",
  "\n",
  "?",
  "#",
  "~",
  "",
];
const hostile = fc.array(fc.constantFrom(...PIECES), { maxLength: 10 }).map((pieces) => pieces.join(""));
const anyPath = fc.oneof(hostile, fc.string(), fc.string({ unit: "binary" }));

/** Three ways of reading a string again. */
const READERS: readonly ((text: string) => string)[] = [
  (text) => text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  (text) => text.replace(/(?:%[\da-f]{2})+/gi, (all) => Buffer.from(all.replaceAll("%", ""), "hex").toString("utf8")),
  (text) => text.normalize("NFKC"),
];

/** Every text that lenient decoders could make of a path, in any order. */
function readingsOf(path: string): ReadonlySet<string> {
  const readings = new Set([path]);
  // A set also visits what is added to it meanwhile.
  for (const reading of readings) for (const read of READERS) readings.add(read(reading));
  return readings;
}

function accepted<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    expect(error).toBeInstanceOf(RefusedError);
    return undefined;
  }
}

describe("joinPath", () => {
  test.each([
    ["a/b.txt", "root/a/b.txt"],
    ["a//b", "root/a/b"],
    ["./a/.", "root/a"],
    ["", "root"],
    [".hidden", "root/.hidden"],
    ["a..b/..c/d..", "root/a..b/..c/d.."],
    ["100%/50%25", "root/100%/50%25"],
    ["ä/日本", "root/ä/日本"],
  ])("joins %j", (path, joined) => {
    expect(joinPath("root", path)).toBe(joined);
  });

  test.each([
    "..",
    "../a",
    "a/../b",
    "a/..",
    "/etc/passwd",
    "//host/share",
    "a\\b",
    "C:/windows",
    "c:a",
    "%2e%2e/a",
    "%2E./a",
    ".%2e/a",
    "..%2fa",
    "%2fetc",
    "a%5cb",
    "%252e%252e%252fa",
    "%25252e%25252e",
    "%25%32%65%25%32%65/a",
    "a\0.txt",
    "a%00.txt",
    "a%2500",
    "a\nb",
    "．．/a",
    "‥/a",
    "．．／a",
    "＼a",
    "%c0%ae%c0%ae/a",
    "%e0%80%ae%e0%80%ae/a",
    "%f0%80%80%ae%f0%80%80%ae/a",
    "%u002e%u002e/a",
    "%uff0e%uff0e/a",
    "%e2%80%a5/a",
    "%E2%80%A5",
    "%25e2%2580%25a5/a",
    "%ef%bc%8e%ef%bc%8e/a",
    "a%ef%bc%bcb",
    "%ef%bc%8fetc",
    "a/%e2%80%a4%e2%80%a4/b",
    "％2e％2e/a",
    "%ef%bc%852e%ef%bc%852e/a",
    "..%2f\u0307a",
    "%e2%80%a5%2f\u0307a",
    ".. /a",
    " . ./a",
    "%f5%80%80%80/a",
    "%uzz/%u002f/a",
    "... /a",
    "...",
    `%${"25".repeat(9)}2e`,
    "a".repeat(4_097),
  ])("refuses %j", (path) => {
    expect(() => joinPath("root", path)).toThrow(RefusedError);
  });

  test("returns only paths inside the root in every reading, on POSIX and on Windows", () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        const joined = accepted(() => joinPath("/srv/root", path));
        if (joined === undefined) return;
        for (const reading of readingsOf(joined)) {
          expect(`${posix.normalize(reading)}/`.startsWith("/srv/root/")).toBe(true);
          expect(`${win32.normalize(reading)}\\`.startsWith("\\srv\\root\\")).toBe(true);
          expect(reading).not.toContain("\0");
        }
      }),
      { numRuns: 3_000 },
    );
  });

  test("joins any list of harmless names unchanged", () => {
    const name = fc.stringMatching(/^[\w-][\w. -]*[\w-]$/);
    fc.assert(
      fc.property(fc.array(name, { minLength: 1 }), (names) => {
        expect(joinPath("root", names.join("/"))).toBe(`root/${names.join("/")}`);
      }),
    );
  });

  test("refuses with a reason, which a tool shows to the model", () => {
    expect(() => joinPath("root", "../a")).toThrow('The path "../a" was refused: it has a segment "..".');
  });
});

describe("joinUri", () => {
  test.each([
    ["https://a.example/files", "b c/d?e#f", "https://a.example/files/b%20c/d%3Fe%23f"],
    ["https://a.example/files/", "b@c:d", "https://a.example/files/b%40c%3Ad"],
    ["https://a.example/files?x=1#y", "b", "https://a.example/files/b"],
    ["notes://ada/", "ä", "notes://ada/%C3%A4"],
    ["https://a.example", "", "https://a.example"],
  ])("joins to %j the path %j", (root, path, joined) => {
    expect(joinUri(root, path)).toBe(joined);
  });

  test.each(["//evil.example/a", "https://evil.example", "../a", "%2e%2e/a"])(
    "cannot leave the root with %j",
    (path) => {
      const joined = accepted(() => joinUri("https://a.example/files", path));
      expect(joined ?? "https://a.example/files/").toMatch(/^https:\/\/a\.example\/files\//);
    },
  );

  test("returns a URI with the root's origin and path, and without query and fragment", () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        const joined = accepted(() => joinUri("https://a.example/files", path));
        if (joined === undefined) return;
        const { origin, pathname, search, hash } = new URL(joined);
        expect([origin, search, hash]).toEqual(["https://a.example", "", ""]);
        expect(`${pathname}/`.startsWith("/files/")).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("resolveUri", () => {
  test.each([
    ["https://a.example/files", "b/c?d=1#e", "https://a.example/files/b/c?d=1"],
    ["https://a.example/files", "https://a.example/files/b", "https://a.example/files/b"],
    ["https://a.example/files", "/files/b", "https://a.example/files/b"],
    ["https://a.example/files", "https://A.example:443/files/b", "https://a.example/files/b"],
    ["https://a.example/files", "b?q=../..", "https://a.example/files/b?q=../.."],
    ["file:///srv/data", "file:///srv/data/a%20b.txt", "file:///srv/data/a%20b.txt"],
    ["notes://ada/", "notes://ada/todo", "notes://ada/todo"],
  ])("resolves against %j the URI %j", (root, uri, resolved) => {
    expect(resolveUri(root, uri)).toBe(resolved);
  });

  test.each([
    "https://evil.example/files/b",
    "//evil.example/files/b",
    "\\\\evil.example\\files",
    "http://a.example/files/b",
    "https://a.example:444/files/b",
    "https://a.example@evil.example/files/b",
    "https://user@a.example/files/b",
    "https://:secret@a.example/files/b",
    "https://a.example/other",
    "https://a.example/files2/b",
    "/other",
    "../other",
    "b/../../other",
    "b/%2e%2e/%2e%2e/other",
    "b/%252e%252e/other",
    "..%2fother",
    "b%00",
    "b\tc",
    "java\nscript:alert(1)",
    "javascript:alert(1)",
    "data:text/html,x",
    "https://[",
  ])("refuses %j", (uri) => {
    expect(() => resolveUri("https://a.example/files", uri)).toThrow(RefusedError);
  });

  test("returns only URIs with the root's origin and path", () => {
    const start = fc.constantFrom(
      "",
      "https://a.example/files/",
      "https://a.example",
      "//",
      "https:",
      "/files/",
      "https://evil.example/",
      "x@",
    );
    fc.assert(
      fc.property(start, anyPath, (prefix, path) => {
        const resolved = accepted(() => resolveUri("https://a.example/files", prefix + path));
        if (resolved === undefined) return;
        for (const reading of readingsOf(new URL(resolved).pathname)) {
          expect(`${posix.normalize(reading)}/`.startsWith("/files/")).toBe(true);
        }
        expect(new URL(resolved).origin).toBe("https://a.example");
      }),
      { numRuns: 3_000 },
    );
  });
});
