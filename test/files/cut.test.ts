// @module-tag long
/** Uploads that are cut off, large uploads, and the memory that they take. */

import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { platform } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CutHow, cutSocket } from "../../src/testing/cut.ts";
import { FilesLab, put } from "./support.ts";

let lab: FilesLab;
beforeAll(async () => {
  lab = await FilesLab.start();
});
afterAll(() => lab?.stop());

/** Sends a part of an upload, and then cuts the connection. */
async function sendPart(url: string, body: Uint8Array, part: number, how: CutHow): Promise<void> {
  const { host, hostname, port, pathname } = new URL(url);
  const head = `PUT ${pathname}cut.txt HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${body.length}\r\n\r\n`;
  const whole = Buffer.concat([Buffer.from(head), body]);
  const socket = connect(Number(port), hostname);
  await new Promise<void>((resolve) =>
    socket.write(whole.subarray(0, Math.floor(whole.length * part)), () => resolve()),
  );
  cutSocket(socket, how);
}

const PLACES = 50;

describe.each([
  ["small", 300_000],
  ["large", 4_000_000],
])("a %s upload that is cut off at 50 places", (user, length) => {
  test("leaves nothing behind, and its link still takes the whole file", { timeout: 300_000 }, async () => {
    const body = new Uint8Array(length).fill(67);
    const before = await lab.worker.objects("McpObject", "files");
    const { file, url } = await lab.link(user);
    for (let place = 0; place < PLACES; place += 1) {
      await sendPart(url, body, (place + 0.5) / PLACES, place % 2 === 0 ? "rst" : "fin");
      if (length > 1_000_000 && place % 10 === 5) {
        // The next attempt may begin while the last one is ending.
        const { status } = await put(url, "early.txt", body.subarray(0, 10), "image/png");
        expect([409, 415]).toContain(status);
      }
      await expect.poll(() => lab.worker.objects("McpObject", "files")).toEqual(before);
      expect(await lab.stored()).toEqual([]);
    }
    expect((await put(url, "whole.txt", body)).status).toBe(201);
    expect(JSON.parse((await lab.call("measure", { any: file }, user)).text)).toMatchObject({ bytes: length });
    await lab.call("discard", { any: file }, user);
    expect(await lab.stored()).toEqual([]);
  });
});

/** By how much the largest memory of workerd grows while it does something for the first time, in MB. */
async function growth(work: () => Promise<void>): Promise<number> {
  const peakMb = () => {
    const status = readFileSync(`/proc/${lab.worker.pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_000;
  };
  await lab.worker.restart();
  // What every first upload needs.
  await lab.upload("first.txt", new Uint8Array(1_100_000).fill(69), newUser());
  const before = peakMb();
  await work();
  return peakMb() - before;
}

let users = 0;
function newUser(): string {
  users += 1;
  return `user-${users}`;
}

/** Sends 100 MB with PUT. */
async function send(url: string): Promise<number> {
  const mb = new Uint8Array(1_000_000).fill(68);
  let left = 100;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left === 0) controller.close();
      else controller.enqueue(mb);
      left -= 1;
    },
  });
  const headers = { "content-length": "100000000" };
  return (await fetch(url, { method: "PUT", body, headers, duplex: "half" } as RequestInit)).status;
}

// The simulated bucket runs in the same process and has memory of its own. So the same upload without the kit is measured too.
test.runIf(platform() === "linux")(
  "100 MB take as little memory as a plain stream into the bucket, and out of it",
  { timeout: 300_000 },
  async () => {
    const plainIn = await growth(async () => expect(await send(lab.worker.url("/plain"))).toBe(200));
    const plainOut = await growth(async () => void (await readAll(lab.worker.url("/plain"))));
    const user = newUser();
    const { file, url } = await lab.link(user);
    const uploaded = await growth(async () => expect(await send(`${url}big.txt`)).toBe(201));
    const { result } = await lab.call("pass", { any: file }, user);
    const [{ uri } = { uri: "" }] = result.content as { uri: string }[];
    const downloaded = await growth(async () => expect(await readAll(uri)).toBe(100_000_000));
    const figures = { plainIn, uploaded, plainOut, downloaded };
    // A whole file in memory would be 100 MB more.
    expect(uploaded, JSON.stringify(figures)).toBeLessThan(plainIn + 50);
    expect(downloaded, JSON.stringify(figures)).toBeLessThan(plainOut + 50);
  },
);

async function readAll(url: string): Promise<number> {
  let bytes = 0;
  for await (const chunk of (await fetch(url)).body ?? []) bytes += chunk.length;
  return bytes;
}

test("each caller can store a number of bytes, also with uploads that have not ended", {
  timeout: 300_000,
}, async () => {
  const big = new Uint8Array(90_000_000).fill(66);
  const links = await Promise.all(Array.from({ length: 3 }, () => lab.link("many")));
  const responses = await Promise.all(links.map(({ url }) => put(url, "a.txt", big)));
  expect(responses.map(({ status }) => status).sort()).toEqual([201, 201, 507]);
});

test("an upload that takes too long is refused, and leaves nothing behind", { timeout: 300_000 }, async () => {
  const { url } = await lab.link("slow");
  const headers = { "content-length": "2000000" };
  // It never stops for long.
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      controller.enqueue(new Uint8Array(1_000).fill(65));
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    },
  });
  const before = await lab.stored();
  const response = await fetch(`${url}slow.txt`, { method: "PUT", body, headers, duplex: "half" } as RequestInit);
  expect([response.status, await response.text()]).toEqual([408, expect.stringMatching(/took too long/)]);
  expect(await lab.stored()).toEqual(before);
});
