import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withinRoots } from "../../src/core/index.ts";

const within = (uri: string, ...roots: readonly string[]) =>
  withinRoots(
    uri,
    roots.map((root) => ({ uri: root })),
  );

describe("withinRoots", () => {
  test.each<[uri: string, root: string, isWithin: boolean, why: string]>([
    ["file:///a/b", "file:///a/b", true, "a root is within itself"],
    ["file:///a/b/c", "file:///a/b", true, "inside"],
    ["file:///a/b/c/d.txt", "file:///a/b/", true, "a root can end in a slash"],
    ["file:///a/b/", "file:///a/b", true, "the URI can end in a slash"],
    ["file:///a/bc", "file:///a/b", false, "segments are whole"],
    ["file:///a/b.txt", "file:///a/b/", false, "segments are whole"],
    ["file:///a", "file:///a/b", false, "above"],
    ["file:///x", "file:///", true, "everything is inside /"],
    ["file:///a/b/../c", "file:///a/b", false, ".. leaves the root"],
    ["file:///a/b/../b/c", "file:///a/b", true, ".. leaves the root and returns"],
    ["file:///a/b/./c", "file:///a/b", true, ". does not leave the root"],
    ["file:///../../a/b", "file:///a/b", true, ".. stops at the top"],
    ["file:///a/b/%2e%2e/c", "file:///a/b", false, "encoded dots are dots"],
    ["file:///a/b/%2E./c", "file:///a/b", false, "half encoded dots are dots"],
    ["file:///a/b/..%2fc", "file:///a/b", false, "an encoded slash may separate"],
    ["file:///a/b/..%2F..%2Fetc", "file:///a/b", false, "an encoded slash may separate"],
    ["file:///a/b/%2e%2e%2f%2e%2e%2fetc", "file:///a/b", false, "the whole path is encoded"],
    ["file:///a/b/..%5c..%5cetc", "file:///a/b", false, "a backslash separates on some systems"],
    ["file:///a/b/x%2fy", "file:///a/b", true, "within whether or not the slash separates"],
    ["file:///a%2fb/c", "file:///a/b", false, "the encoded slash may be part of a name"],
    ["file:///a%2fb/c", "file:///a%2fb", true, "both have the same encoded name"],
    ["file:///a/b/%252e%252e/c", "file:///a/b", true, "decoded only once, as when it is opened"],
    ["file:///a/%62/c", "file:///a/b", true, "encoding makes no difference"],
    ["file:///a/b c/d", "file:///a/b%20c", true, "encoding makes no difference"],
    ["file:///a/%C3%A4/c", "file:///a/ä", true, "encoding makes no difference"],
    ["file:///a/b/%zz", "file:///a/b", false, "malformed encoding"],
    ["FILE:///a/b/c", "file:///a/b", true, "schemes are case-insensitive"],
    ["file:///A/b", "file:///a", false, "paths are case-sensitive"],
    ["file://HOST/a/b", "file://host/a", true, "hosts are case-insensitive"],
    ["file://other/a/b", "file://host/a", false, "another host"],
    ["file://localhost/a/b", "file:///a", true, "localhost is an empty host in a file URL (WHATWG URL)"],
    ["https://Example.com/a/b", "https://example.com/a", true, "hosts are case-insensitive"],
    ["https://example.com:443/a/b", "https://example.com/a", true, "the default port"],
    ["https://example.com:8443/a", "https://example.com/a", false, "another port"],
    ["https://example.com.evil/a", "https://example.com", false, "another host"],
    ["https://example.com@evil/a", "https://example.com", false, "another host"],
    ["http://example.com/a", "https://example.com/a", false, "another scheme"],
    ["https://example.com/a/b?up=../..#x", "https://example.com/a/b", true, "query and fragment are ignored"],
    ["https://example.com/x", "https://example.com", true, "a root without a path"],
    ["s3://Bucket/a/b", "s3://bucket/a", true, "custom schemes"],
    ["s3://bucket/a/../../other/a", "s3://bucket/a", false, "custom schemes"],
    ["s3://other/a", "s3://bucket/a", false, "custom schemes"],
    ["urn:a:b", "urn:a", false, "without slashes a URI is one segment"],
    ["urn:a:b", "urn:a:b", true, "a root is within itself"],
    ["notes:a/b", "notes:a", true, "a URI without an authority"],
    ["notes:/a/b", "notes:a", false, "an absolute path is not relative"],
    ["notes:a/../../b", "notes:a", false, "a URI without an authority"],
    ["/a/b", "file:///a", false, "not a URI"],
    ["", "file:///", false, "not a URI"],
    ["file:///a", "", false, "no root"],
    ["file:///a", "not a uri", false, "no root"],
  ])("returns the right result for %s and the root %s: %j, %s", (uri, root, isWithin) => {
    expect(within(uri, root)).toBe(isWithin);
  });

  test("needs one matching root of several, and returns false without roots", () => {
    expect(within("file:///b/x", "nonsense", "file:///a", "file:///b")).toBe(true);
    expect(within("file:///b/x")).toBe(false);
  });

  const name = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => {
    return text !== "." && text !== ".." && !/[/\\]/.test(text) && text.isWellFormed();
  });
  const names = fc.array(name, { maxLength: 5 });
  const scheme = fc.constantFrom("file://", "file://host", "https://example.com", "s3://bucket");
  const uriOf = (origin: string, segments: readonly string[]) =>
    origin + segments.map((s) => `/${encodeURIComponent(s)}`).join("");

  test("returns true after path segments are appended, and false in reverse", () => {
    fc.assert(
      fc.property(scheme, names, fc.array(name, { minLength: 1, maxLength: 4 }), (origin, root, more) => {
        const [above, below] = [uriOf(origin, root), uriOf(origin, [...root, ...more])];
        expect([within(above, above), within(below, above), within(below, `${above}/`)]).toEqual([true, true, true]);
        expect(within(above, below)).toBe(false);
      }),
    );
  });

  test("returns false for a longer last segment", () => {
    fc.assert(
      fc.property(scheme, names, name, name, (origin, root, last, more) => {
        const root_ = uriOf(origin, [...root, last]);
        expect(within(uriOf(origin, [...root, last + more]), root_)).toBe(false);
      }),
    );
  });

  test("returns false for as many or more .. segments, however they are written", () => {
    const up = fc.constantFrom("..", "%2e%2e", ".%2E", "%2e.");
    const separator = fc.constantFrom("/", "%2f", "%2F", "%5c");
    fc.assert(
      fc.property(
        scheme,
        fc.array(name, { minLength: 1, maxLength: 3 }),
        names,
        fc.array(fc.tuple(separator, up), { minLength: 5, maxLength: 12 }),
        name,
        (origin, root, inner, steps, out) => {
          fc.pre(out !== root[0]);
          const path = steps.map(([slash, dots]) => slash + dots).join("");
          const deep = inner.slice(0, Math.max(0, steps.length - root.length));
          expect(
            within(`${uriOf(origin, [...root, ...deep])}${path}/${encodeURIComponent(out)}`, uriOf(origin, root)),
          ).toBe(false);
        },
      ),
    );
  });

  test("never throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl()), fc.oneof(fc.string(), fc.webUrl()), (uri, root) => {
        expect(typeof within(uri, root)).toBe("boolean");
      }),
    );
  });
});
