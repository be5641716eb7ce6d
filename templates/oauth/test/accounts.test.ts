/** Tests with development users on real workerd: scopes, step-up authorization, and notes that only their owner can see. */
import type { Client } from "mcp-edge/client";
import { startWorker, type TestWorker } from "mcp-edge/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { call, LEGACY, MODERN, Person } from "./person.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ wrangler: "wrangler.toml", entry: "src/dev.ts" });
});
afterAll(() => worker?.stop());

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

async function join(person: Person, version?: string): Promise<Client> {
  const client = await person.connect(worker.url("/mcp"), version);
  clients.push(client);
  return client;
}

const ada = () => new Person("Ada");
const grace = () => new Person("Grace");
type Added = { id: string };

test("the response to a request without a token says where to get one, and for which scope", async () => {
  const answer = await fetch(worker.url("/mcp"), { method: "POST" });
  expect(answer.status).toBe(401);
  const challenge = answer.headers.get("WWW-Authenticate") ?? "";
  expect(challenge).toContain(`resource_metadata="${worker.url("/.well-known/oauth-protected-resource/mcp")}"`);
  expect(challenge).toContain('scope="notes:read"');
});

describe.each([MODERN, LEGACY])("in %s", (version) => {
  test("a client requests the scope to read, and the scope to write when a call needs it", async () => {
    const person = ada();
    const client = await join(person, version);
    await call(client, "list_notes");
    expect(person.asked).toEqual(["notes:read"]);
    expect(await call(client, "add_note", { text: "Read RFC 9470" })).toMatchObject({ text: "Read RFC 9470" });
    expect(person.asked.slice(1)).toEqual(["notes:read notes:write"]);
    await call(client, "add_note", { text: "and RFC 9728" });
    expect(person.asked).toHaveLength(2);
  });

  test("a call that the user does not allow is refused, and calls that were allowed before still work", async () => {
    const person = ada();
    const client = await join(person, version);
    const before = await call(client, "list_notes");
    person.decision = "deny";
    await expect(client.callTool("add_note", { text: "unwanted" })).rejects.toMatchObject({ reason: "access-denied" });
    expect(await call(client, "list_notes")).toEqual(before);
  });

  test("a user cannot find, read or delete the note of another user", async () => {
    const [hers, theirs] = [await join(ada(), version), await join(grace(), version)];
    const { id } = (await call(hers, "add_note", { text: "Ada's secret" })) as Added;
    expect(await call(theirs, "list_notes", { query: "secret" })).toEqual({ notes: [] });
    expect(await call(theirs, "delete_note", { id })).toContain("This note does not exist");
    await expect(theirs.readResource(`note://${id}`)).rejects.toThrow("Resource not found");
    expect(await hers.readResource(`note://${id}`)).toMatchObject({ contents: [{ text: "Ada's secret" }] });
    expect(await call(hers, "delete_note", { id })).toBe("Deleted.");
    await expect(hers.readResource(`note://${id}`)).rejects.toThrow("Resource not found");
  });

  test("sign-in and notes survive eviction and a crash", async () => {
    const person = ada();
    const client = await join(person, version);
    const { id } = (await call(client, "add_note", { text: `kept in ${version}` })) as Added;
    const pages = person.asked.length;
    expect(await worker.evict("NotesObject")).toBeGreaterThan(0);
    expect(await worker.evict("McpObject")).toBeGreaterThan(0);
    expect(await call(client, "list_notes", { query: version })).toMatchObject({ notes: [{ id }] });
    await worker.restart();
    expect(await call(client, "list_notes", { query: version })).toMatchObject({ notes: [{ id }] });
    // If the server had lost the user's consent, the browser would have been opened again.
    expect(person.asked).toHaveLength(pages);
  });
});

test("a search does not interpret wildcards", async () => {
  const client = await join(ada());
  await call(client, "add_note", { text: "100% of a' OR 1=1" });
  expect(await call(client, "list_notes", { query: "a' or 1=1" })).toMatchObject({ notes: [{}] });
  expect(await call(client, "list_notes", { query: "100_ of" })).toEqual({ notes: [] });
});

test("when an access token expires, the client gets a new one without asking the user", async () => {
  // A separate Worker, because its clock stays ahead.
  await using own = await startWorker({ wrangler: "wrangler.toml", entry: "src/dev.ts" });
  const person = ada();
  const client = await person.connect(own.url("/mcp"));
  await own.advance(60 * 60_000 + 1_000);
  expect(await call(client, "list_notes")).toEqual({ notes: [] });
  expect(person.asked).toHaveLength(1);
  await client.close();
});
