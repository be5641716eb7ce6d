import type { TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, connectTo, Issuer, LEGACY, MODERN, postRaw, startProject, VERSIONS } from "../harness.ts";

let issuer: Issuer;
let worker: TestWorker;
beforeAll(async () => {
  issuer = await Issuer.create();
  worker = await startProject({ outbound: (request) => issuer.answer(request) });
});
afterAll(() => worker?.stop());

const open = async (user: string, version: string) =>
  connectTo(worker, { protocolVersions: [version], headers: await issuer.headers(worker, user) });

test("requests without a valid token are refused", async () => {
  expect((await postRaw(worker)).status).toBe(401);
  expect((await postRaw(worker, { Authorization: "Bearer wrong" })).status).toBe(401);
  const expired = await issuer.headers(worker, "ada", { exp: Math.floor(Date.now() / 1000) - 3_600 });
  expect((await postRaw(worker, expired)).status).toBe(401);
  const other = await issuer.headers(worker, "ada", { aud: "https://other.example.com/mcp" });
  expect((await postRaw(worker, other)).status).toBe(401);
  expect((await postRaw(worker, await issuer.headers(worker, "ada"))).status).toBe(200);
});

describe.each(VERSIONS)("in %s", (version) => {
  test("each user sees only their own notes, in every client", async () => {
    const [ada, grace] = [await open(`ada-${version}`, version), await open(`grace-${version}`, version)];
    const first = (await call(ada, "add_note", { text: "one" })).value;
    const second = (await call(ada, "add_note", { text: "two" })).value;
    expect([first, second]).toEqual([{ id: expect.any(String) }, { id: expect.any(String) }]);
    const notes = [
      { ...(first as object), text: "one" },
      { ...(second as object), text: "two" },
    ];
    expect((await call(ada, "list_notes")).value).toEqual({ notes });
    expect((await call(grace, "list_notes")).value).toEqual({ notes: [] });
    const elsewhere = await open(`ada-${version}`, version === MODERN ? LEGACY : MODERN);
    expect((await call(elsewhere, "list_notes")).value).toEqual({ notes });
    for (const client of [ada, grace, elsewhere]) await client.close();
  });

  test("a note can be deleted by its owner only", async () => {
    const [ada, grace] = [await open(`eva-${version}`, version), await open(`bob-${version}`, version)];
    const { id } = (await call(ada, "add_note", { text: "mine" })).value as { id: string };
    const refused = await call(grace, "delete_note", { id });
    expect(refused.isError).toBe(true);
    expect(refused.text).not.toMatch(/internal error/i);
    expect((await call(ada, "list_notes")).value).toEqual({ notes: [{ id, text: "mine" }] });
    expect((await call(ada, "delete_note", { id })).value).toEqual({ deleted: true });
    expect((await call(ada, "list_notes")).value).toEqual({ notes: [] });
    expect((await call(ada, "delete_note", { id })).isError).toBe(true);
    for (const client of [ada, grace]) await client.close();
  });

  test("a user name cannot reach another user's notes", async () => {
    const victim = await open(`victim-${version}`, version);
    await call(victim, "add_note", { text: "secret" });
    for (const name of [
      `victim-${version} `,
      `VICTIM-${version}`,
      `../victim-${version}`,
      `victim-${version}%00`,
      "%",
    ]) {
      const client = await open(name, version);
      expect((await call(client, "list_notes")).value, name).toEqual({ notes: [] });
      await client.close();
    }
    await victim.close();
  });

  test("a long text is refused, and notes survive a restart", async () => {
    const ada = await open(`kay-${version}`, version);
    expect((await call(ada, "add_note", { text: "x".repeat(1_001) })).isError).toBe(true);
    const text = `${"x".repeat(990)}'; --`;
    await call(ada, "add_note", { text });
    await ada.close();
    await worker.kill();
    await worker.restart();
    const later = await open(`kay-${version}`, version);
    expect((await call(later, "list_notes")).value).toEqual({ notes: [{ id: expect.any(String), text }] });
    await later.close();
  });
});
