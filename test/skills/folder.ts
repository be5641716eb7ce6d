/** Folders of skills, written for a test. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export const REFUNDS = `---
name: refunds
description: Processes customer refunds.
license: Apache-2.0
metadata:
  version: "2.1"
---
# Refunds

Read references/LIMITS.md, and use templates/a b.md.
`;
export const NESTED = `---
name: disputes
description: Handles disputes about refunds.
---
Ask a colleague.
`;
/** Bytes that are not UTF-8. */
export const IMAGE: Uint8Array = Uint8Array.from([137, 80, 78, 71, 13, 255, 254]);

/** A skill with references, an image and a nested skill, and a separate skill beside it. */
export const SKILLS: Readonly<Record<string, string | Uint8Array>> = {
  "acme/refunds/SKILL.md": REFUNDS,
  "acme/refunds/references/LIMITS.md": "At most 500 euros.\n",
  "acme/refunds/templates/a b.md": "\ufeffDear customer,\r\n",
  "acme/refunds/templates/logo.png": IMAGE,
  "acme/refunds/disputes/SKILL.md": NESTED,
  "acme/refunds/.secret": "not served",
  "git-workflow/SKILL.md": "---\nname: git-workflow\ndescription: How this team uses Git.\n---\nRebase.\n",
  "README.md": "Not part of a skill.",
};

/** Writes files to a new folder and returns its path. */
export function writeFolder(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-skills-"));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}
