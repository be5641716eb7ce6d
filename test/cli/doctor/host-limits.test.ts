/** The limits of hosts, on every runtime and for every host. */
import { describe, expect, test, vi } from "vitest";
import { Diagnosis } from "../../../src/cli/commands/doctor/diagnosis.ts";
import { findExceeded } from "../../../src/cli/host-profiles/find-limits.ts";
import { TOOL, toolsNamed } from "./planted.ts";

/** Returns the hosts of a limit that a tool with a name exceeds, by severity. */
function refusing(name: string): Record<string, readonly string[]> {
  const found = findExceeded({ tools: [{ ...TOOL, name }] }).filter(({ id }) => id === "name-characters");
  return Object.fromEntries(found.map(({ severity, hosts }) => [severity, hosts]));
}

describe("the names of tools", () => {
  test.each([
    ["files_read", {}],
    ["files-read", {}],
    ["files.read", { breaks: ["claude", "claude-desktop"], degrades: ["cursor"] }],
    ["a".repeat(65), { breaks: ["claude", "claude-desktop"] }],
  ])("%s is reported for the hosts that refuse it", (name, hosts) => {
    expect(refusing(name)).toEqual(hosts);
  });
});

test("the limits are compared on Node 20, which cannot group", () => {
  vi.spyOn(Object, "groupBy").mockImplementation(() => {
    throw new TypeError("Object.groupBy is not a function");
  });
  try {
    const tools = ["create", "delete"].map((verb) => ({ ...TOOL, name: `${verb}PageWithAttachmentsAndPermissions` }));
    const found = findExceeded({ tools, serverName: "confluence-of-the-department" });
    expect(found.map(({ id }) => id)).toContain("name-collision");
  } finally {
    vi.restoreAllMocks();
  }
});

test("hosts with different limits keep their own text and source", () => {
  const diagnosis = new Diagnosis();
  for (const each of findExceeded({ tools: toolsNamed(129) })) {
    diagnosis.add({ ...each, step: "limits", fault: "host" });
  }
  expect(diagnosis.findings).toMatchObject([
    {
      hosts: ["vscode"],
      what: expect.stringContaining("accepts 128"),
      source: { url: expect.stringContaining("vscode") },
    },
    {
      hosts: ["windsurf"],
      what: expect.stringContaining("accepts 100"),
      source: { url: expect.stringContaining("windsurf") },
    },
  ]);
});
