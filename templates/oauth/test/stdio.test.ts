/** Tests the notebook over standard input and output, with one user, notes in a file, and the token in the environment. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "mcp-edge/client";
import { stdio } from "mcp-edge/node";
import { afterAll, expect, test } from "vitest";
import { FakeGitHub } from "./fake-github.ts";
import { call, LEGACY } from "./person.ts";

const folder = mkdtempSync(join(tmpdir(), "notes-"));
const github = new FakeGitHub();
afterAll(() => {
  github.stop();
  rmSync(folder, { recursive: true });
});

function start(more: Record<string, string> = {}) {
  const env = { NOTES_FOLDER: folder, ...more };
  const me = { name: "test", version: "1.0.0", protocolVersions: [LEGACY], onEvent: () => {} };
  return connect(stdio({ command: process.execPath, args: ["src/stdio.ts"], env }), me);
}

test("a note is kept after the process ends", async () => {
  const first = await start();
  const { id } = (await call(first, "add_note", { text: "Buy milk" })) as { id: string };
  await first.close();
  const second = await start();
  expect(await call(second, "list_notes", { query: "MILK" })).toMatchObject({ notes: [{ id, text: "Buy milk" }] });
  expect(await call(second, "delete_note", { id })).toBe("Deleted.");
  expect(await call(second, "list_notes")).toEqual({ notes: [] });
  await second.close();
});

test("an issue is created with the token from the environment; without a token, the error says what is missing", async () => {
  await github.start();
  const issue = { repository: "octocat/hello-world", title: "Typo" };
  const client = await start({ GITHUB_URL: github.url, GITHUB_TOKEN: github.issueToken("ada") });
  expect(await call(client, "github_create_issue", issue)).toMatchObject({ number: 1 });
  expect(github.issues).toMatchObject([{ author: "ada", title: "Typo" }]);
  await client.close();
  const without = await start({ GITHUB_URL: github.url });
  expect(await call(without, "github_create_issue", issue)).toContain("GITHUB_TOKEN");
  await without.close();
});

test("the prompts contain their arguments, and debug-error is a conversation", async () => {
  const client = await start();
  const texts = async (name: string, args: Record<string, string>) =>
    (await client.getPrompt(name, args)).messages.map(({ role, content }) => [
      role,
      (content as { text: string }).text,
    ]);
  expect(await texts("git-commit", { changes: "- old\n+ new" })).toEqual([["user", expect.stringContaining("+ new")]]);
  expect(await texts("explain-code", { code: "a + b" })).toEqual([
    ["user", expect.stringContaining("this code works")],
  ]);
  expect(await texts("explain-code", { code: "a + b", language: "Rust" })).toEqual([
    ["user", expect.stringContaining("Rust code works:\n\na + b")],
  ]);
  const { values } = await client.complete({ type: "ref/prompt", name: "explain-code" }, "language", "java");
  expect(values).toEqual(["Java", "JavaScript"]);
  expect(await texts("debug-error", { error: "ENOENT", tried: "I restarted it." })).toEqual([
    ["user", expect.stringContaining("ENOENT")],
    ["assistant", expect.stringContaining("What have you tried")],
    ["user", expect.stringContaining("I restarted it.")],
  ]);
  await client.close();
});
