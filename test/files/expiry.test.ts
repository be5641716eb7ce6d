/** Files and links end. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { FilesLab, put } from "./support.ts";

let lab: FilesLab;
beforeAll(async () => {
  lab = await FilesLab.start();
});
afterAll(() => lab?.stop());

const HOUR_MS = 3_600_000;
const LARGE = new Uint8Array(1_200_000).fill(65);

test("files are deleted after their time, from the object and from the bucket, and their links are refused", async () => {
  const [small, large] = [await lab.upload("a.txt", "abc", "ada"), await lab.upload("b.txt", LARGE, "ada")];
  const made = await lab.call("make", { name: "c.txt", type: "text/plain", text: "abc" }, "ada");
  const [block] = made.result.content as { readonly uri: string }[];
  const { url } = await lab.link("ada");
  expect((await fetch(block?.uri ?? "")).status).toBe(200);
  await lab.worker.advance(HOUR_MS - 60_000);
  expect((await lab.call("measure", { any: small }, "ada")).isError).toBe(false);
  await lab.worker.advance(180_000);
  for (const any of [small, large]) expect((await lab.call("measure", { any }, "ada")).text).toMatch(/no such file/);
  const ended = await fetch(block?.uri ?? "");
  expect([ended.status, await ended.text()]).toEqual([
    410,
    "The link has ended. Ask the assistant to create the file again.\n",
  ]);
  expect((await put(url, "a.txt", "abc")).status).toBe(410);
  expect((await fetch(url)).status).toBe(410);
  expect(await lab.stored()).toEqual([]);
  const objects = await lab.worker.objects("McpObject", "files");
  expect(objects).toEqual([]);
});

test("a reservation whose Worker has crashed ends, and what its upload has left in the bucket is deleted", async () => {
  const { file, url } = await lab.link("eve");
  const sending = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(LARGE),
  });
  const headers = { "content-length": String(3 * LARGE.length) };
  const request = { method: "PUT", body, headers, duplex: "half", signal: sending.signal } as RequestInit;
  const sent = fetch(`${url}a.txt`, request).catch(() => undefined);
  await expect.poll(() => lab.worker.objects("McpObject", "files")).toHaveLength(1);
  await lab.worker.kill();
  sending.abort();
  await sent;
  await lab.worker.restart();
  expect((await put(url, "b.txt", "abc")).status).toBe(409);
  await lab.worker.advance(120_000);
  expect((await put(url, "b.txt", "abc")).status).toBe(201);
  expect(JSON.parse((await lab.call("measure", { any: file }, "eve")).text)).toMatchObject({ name: "b.txt", bytes: 3 });
  expect(await lab.stored()).toEqual([]);
});
