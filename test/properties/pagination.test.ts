import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ListedEntry } from "../../src/core/define/catalog.ts";
import { REGISTRY } from "../../src/core/define/server.ts";
import { McpServer } from "../../src/core/index.ts";
import { VERSIONS } from "../../src/core/protocol/versions.ts";
import { listResult } from "../../src/core/serve/list-methods.ts";
import { createPage } from "../../src/core/serve/pagination.ts";

const keys = fc.uniqueArray(fc.string({ unit: "binary" }), { maxLength: 40 });
const entriesOf = (names: readonly string[]): ListedEntry[] =>
  names.map((key) => ({ key, text: JSON.stringify({ key }) }));

/** All pages of a list, from the first; `between` may change the list after each. */
function collect(names: readonly string[], pageSize: number | undefined, between = (list: readonly string[]) => list) {
  const pages: string[][] = [];
  let [list, cursor]: [readonly string[], string | undefined] = [names, undefined];
  do {
    const page = createPage("tools/list", entriesOf(list), cursor, pageSize);
    pages.push(page.entries.map(({ key }) => key));
    cursor = page.nextCursor;
    list = between(list);
  } while (cursor !== undefined);
  return pages;
}

describe("pageOf", () => {
  test("makes pages that together are the list, each as full as possible", () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 50 }), (names, pageSize) => {
        const pages = collect(names, pageSize);
        expect(pages.flat()).toEqual(names);
        for (const page of pages.slice(0, -1)) expect(page.length).toBe(pageSize);
        expect(pages.length).toBe(Math.max(1, Math.ceil(names.length / pageSize)));
      }),
    );
  });

  test("returns everything at once without a page size", () => {
    fc.assert(
      fc.property(keys, (names) => {
        expect(collect(names, undefined)).toEqual([names]);
      }),
    );
  });

  test("makes no empty last page for an exact multiple", () => {
    for (const [count, size] of [
      [2, 2],
      [4, 2],
      [9, 3],
      [5, 1],
    ] as const) {
      const pages = collect(
        Array.from({ length: count }, (_, place) => `t${place}`),
        size,
      );
      expect(pages.map((page) => page.length)).toEqual(Array.from({ length: count / size }, () => size));
    }
  });

  test("repeats and skips no entry after an insertion between pages, wherever it is", () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 7 }), fc.infiniteStream(fc.nat()), (names, pageSize, places) => {
        let inserted = 0;
        const between = (list: readonly string[]) => {
          if (inserted > 30) return list;
          const at = (places.next().value ?? 0) % (list.length + 1);
          return list.toSpliced(at, 0, `inserted ${inserted++}\u0000`);
        };
        const seen = collect(names, pageSize, between).flat();
        expect(seen.filter((key) => names.includes(key))).toEqual(names);
        expect(new Set(seen).size).toBe(seen.length);
      }),
    );
  });

  test("skips only an entry that is removed before it was shown", () => {
    const names = ["a", "b", "c", "d", "e"];
    const { nextCursor } = createPage("tools/list", entriesOf(names), undefined, 2);
    const rest = createPage("tools/list", entriesOf(["a", "b", "d", "e"]), nextCursor, 2);
    expect(rest.entries.map(({ key }) => key)).toEqual(["d", "e"]);
  });

  const refused = (cursor: unknown, list = "tools/list") => {
    expect(() => createPage(list, entriesOf(["a", "b", "c"]), cursor, 1)).toThrow(
      expect.objectContaining({ code: -32602 }),
    );
  };

  test.each([
    ["garbage"],
    [""],
    [" "],
    ["-1"],
    ["99999"],
    ["%%%"],
    [null],
    [0],
    [-1],
    [{}],
    [["a"]],
    [true],
    ["bnVsbA=="],
  ])("refuses the cursor %j with -32602", (cursor) => refused(cursor));

  test("refuses a cursor that was not issued with -32602", () => {
    fc.assert(fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.base64String()), (cursor) => refused(cursor)));
    fc.assert(fc.property(fc.jsonValue(), (value) => refused(Buffer.from(JSON.stringify(value)).toString("base64"))));
  });

  test("refuses the cursor of another list, or of an entry that does not exist, with -32602", () => {
    const { nextCursor } = createPage("tools/list", entriesOf(["a", "b", "c"]), undefined, 1);
    refused(nextCursor, "prompts/list");
    const foreign = createPage("tools/list", entriesOf(["x", "y"]), undefined, 1).nextCursor;
    refused(foreign);
  });

  test("refuses any other encoding of a cursor, with white space or without padding, with -32602", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (key) => {
        const entries = entriesOf([key, `${key}2`]);
        const { nextCursor = "" } = createPage("tools/list", entries, undefined, 1);
        for (const other of [` ${nextCursor}`, `${nextCursor}\n`, nextCursor.replace(/=+$/, "")]) {
          if (other === nextCursor) continue;
          expect(() => createPage("tools/list", entries, other, 1)).toThrow(expect.objectContaining({ code: -32602 }));
        }
      }),
    );
  });
});

test("the first page of a list has a different cursor at each endpoint and for each server", () => {
  const newServer = () => new McpServer({ name: "paged", version: "1.0.0", pageSize: 1 })[REGISTRY];
  const [rules] = VERSIONS;
  const server = newServer();
  const entries = entriesOf(["a", "b"]);
  const first = (endpoint: string, of = server) => {
    const request = { jsonrpc: "2.0", id: 1, method: "tools/list" } as const;
    const call = { registry: of, request, client: { rules }, endpoint } as Parameters<typeof listResult>[2];
    return listResult("tools/list", entries, call);
  };
  const page = first("/public");
  expect(first("/public")).toBe(page);
  expect(first("/admin").text).not.toBe(page.text);
  const once = first("/public");
  expect(first("/public", newServer())).not.toBe(once);
});
