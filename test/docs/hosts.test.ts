/** The pages of hosts: their facts come from the data of the doctor and of `mcp-edge connect`, and stand nowhere else. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { factsTable, limitsTable, logsTable, overviewTable } from "../../scripts/host-facts.ts";
import { documentsWithParts, PAGE_NAMES, partsIn, withParts } from "../../scripts/host-pages.ts";
import { PROFILES } from "../../src/cli/host-profiles/profiles.ts";
import { HOSTS } from "../../src/cli/hosts/entries.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const pageOf = (name: string) => read(`docs/hosts/${name}.md`);

test.each(documentsWithParts())("the parts of %s are up to date: npm run docs:reference", (file) => {
  const document = read(file);
  expect(partsIn(document)).not.toEqual([]);
  expect(withParts(file, document)).toBe(document);
});

describe.each(PAGE_NAMES)("the page of %s", (name) => {
  test("has its facts, logs and limits", () => {
    const parts = partsIn(pageOf(name));
    expect(parts).toEqual(expect.arrayContaining(["facts", "limits"]));
    const { logs } = PROFILES.find((each) => each.name === name) ?? {};
    expect(parts.includes("logs")).toBe(logs !== undefined);
  });

  test("shows what mcp-edge connect writes, if the host has a file that it writes", () => {
    const isWritten = HOSTS.some((each) => each.name === name && each.entry);
    expect(partsIn(pageOf(name)).filter((part) => part === "entries" || part === "files")).toEqual(
      isWritten ? ["entries", "files"] : [],
    );
  });

  test("names no source outside of its data, except for the steps of hosts without a file", () => {
    const text = pageOf(name).replaceAll(/<!-- (\S[^:\n]*): written[\s\S]*?<!-- the end of \1 -->/g, "");
    const links = [...text.matchAll(/\]\((https?:[^)]+)\)/g)].map(([, url = ""]) => url);
    expect(links.length).toBeLessThanOrEqual(name === "claude" || name === "chatgpt" ? 1 : 0);
  });
});

test("the index has a row for each host", () => {
  for (const { name, title } of PROFILES) expect(overviewTable()).toContain(`| [${title}](${name}.md) |`);
});

test("every fact has a source with a date, and a doubtful one has two", () => {
  const facts = PROFILES.flatMap((profile) => Object.values(profile))
    .flat()
    .filter((fact) => typeof fact === "object");
  expect(facts.length).toBeGreaterThan(80);
  for (const { source, contradictedBy = source } of facts) {
    for (const { url, date } of [source, contradictedBy]) {
      expect(url).toMatch(/^https:\/\/\S+$/);
      expect(date).toMatch(/^202[4-6]-\d\d-\d\d$/);
    }
  }
  expect(factsTable("gemini-cli")).toMatch(/\| \[\S+\]\(\S+\), contradicted by \[\S+\]\(\S+\) \|/);
});

test("what is not known is said to be not known", () => {
  expect(factsTable("windsurf")).toMatch(
    /We found no published source for the following: .*whether it opens a session/,
  );
  expect(factsTable("codex")).not.toContain("how long it waits for a call");
});

test("a fact is a sentence, and no cell breaks its table", () => {
  const tables = PAGE_NAMES.flatMap((name) => [factsTable(name), logsTable(name), limitsTable(name)]);
  const rows = [...tables, limitsTable(), overviewTable()].flatMap((text) =>
    text.split("\n").filter((line) => line.startsWith("|")),
  );
  for (const row of rows) expect(row, row).toMatch(/^(\| [^|]+ )+\|$/);
  for (const name of PAGE_NAMES) {
    const facts = factsTable(name)
      .split("\n")
      .slice(2)
      .filter((line) => line.startsWith("|"));
    for (const row of facts) expect(row).toMatch(/^\| [A-Z`][^|]*\. \|/);
  }
});

test("a host with a limit is named in the limits of all hosts", () => {
  for (const text of ["16,384 bytes of input schema", "60 characters of server name", "128 tools of all servers"]) {
    expect(limitsTable()).toContain(text);
  }
  expect(limitsTable("zed")).toBe("No limit is known.");
});
