/** Tests the deployed Worker on real workerd: users sign in with GitHub, and issues are created on their behalf. */
import type { Client } from "mcp-edge/client";
import { startWorker, type TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { APP, FakeGitHub } from "./fake-github.ts";
import { call, LEGACY, MODERN, Person } from "./person.ts";

const github = new FakeGitHub();
let worker: TestWorker;
beforeAll(async () => {
  await github.start();
  worker = await startWorker({ wrangler: "wrangler.toml", bindings: { ...APP, GITHUB_URL: github.url } });
});
beforeEach(() => {
  github.issues.length = 0;
});
afterAll(async () => {
  await worker?.stop();
  github.stop();
});

const repository = "octocat/hello-world";

/** Signs in with a GitHub account. */
async function join(account: string, version?: string): Promise<{ person: Person; client: Client }> {
  github.account = account;
  const person = new Person("GitHub");
  return { person, client: await person.connect(worker.url("/mcp"), version) };
}

test.each([MODERN, LEGACY])("an issue is created with the token of the user who asks for it (%s)", async (version) => {
  const [ada, grace] = [await join("ada", version), await join("grace", version)];
  github.account = "ada";
  const issue = { repository, title: "Typo", body: "In the first line." };
  const url = `${github.url}/${repository}/issues/1`;
  expect(await call(ada.client, "github_create_issue", issue)).toEqual({ number: 1, url });
  expect(ada.person.asked.at(-1)).toBe("notes:read github:issues");
  github.account = "grace";
  await call(grace.client, "github_create_issue", { repository, title: "Another" });
  expect(github.issues).toEqual([
    { author: "ada", ...issue },
    { author: "grace", repository, title: "Another", body: "" },
  ]);
  // The GitHub token is stored in an object, and is still available after the object was evicted.
  expect(await worker.evict("McpObject")).toBeGreaterThan(0);
  await call(ada.client, "github_create_issue", { repository, title: "Later" });
  expect(github.issues.at(-1)).toMatchObject({ author: "ada", title: "Later" });
  await ada.client.close();
  await grace.client.close();
});

test("a note becomes the text of an issue, unless it belongs to another user", async () => {
  const { client } = await join("ada");
  const { id } = (await call(client, "add_note", { text: "The door squeaks." })) as { id: string };
  await call(client, "github_create_issue", { repository, title: "Door", note: id });
  expect(github.issues).toMatchObject([{ body: "The door squeaks." }]);
  const other = await join("grace");
  const refused = await call(other.client, "github_create_issue", { repository, title: "Door", note: id });
  expect(refused).toContain("This note does not exist");
  expect(github.issues).toHaveLength(1);
  await client.close();
  await other.client.close();
});

test.each([
  ["nobody/nothing", "repository does not exist"],
  ["octocat/old-name", "was renamed"],
  ["octocat/..", "Write owner/name"],
  ["octocat/a/../../b", "Write owner/name"],
])("an issue in %s fails with a reason that the model can read", async (wrong, reason) => {
  const { client } = await join("ada");
  expect(await call(client, "github_create_issue", { repository: wrong, title: "Typo" })).toContain(reason);
  expect(github.issues).toEqual([]);
  await client.close();
});

test("after GitHub has revoked the access, the error says that the user must sign in again", async () => {
  const { client } = await join("ada");
  await call(client, "github_create_issue", { repository, title: "Before" });
  github.revokeAll();
  expect(await call(client, "github_create_issue", { repository, title: "After" })).toContain("must sign in again");
  expect(github.issues).toMatchObject([{ title: "Before" }]);
  await client.close();
});

test("a development user creates issues with the token in .dev.vars", async () => {
  const bindings = { GITHUB_URL: github.url, GITHUB_TOKEN: github.issueToken("grace") };
  await using dev = await startWorker({ wrangler: "wrangler.toml", entry: "src/dev.ts", bindings });
  const client = await new Person("Ada").connect(dev.url("/mcp"));
  await call(client, "github_create_issue", { repository, title: "From my machine" });
  expect(github.issues).toMatchObject([{ author: "grace" }]);
  await client.close();
});

test("without such a token, a development user gets an error that says why no issue can be created", async () => {
  await using dev = await startWorker({ wrangler: "wrangler.toml", entry: "src/dev.ts" });
  const client = await new Person("Ada").connect(dev.url("/mcp"));
  expect(await call(client, "github_create_issue", { repository, title: "Typo" })).toContain("does not issue tokens");
  await client.close();
});
