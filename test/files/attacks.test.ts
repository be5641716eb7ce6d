// @module-tag long
/** Attacks on files: by clients and models that send what nobody expects, and by faults of the platform. */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { platform } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import { FilesLab, put } from "./support.ts";

expectLogs(/expired files could not be deleted from the bucket/, /Objects are temporarily unavailable/);

let lab: FilesLab;
beforeAll(async () => {
  lab = await FilesLab.start("test/files/fixtures/attacked.ts");
});
afterAll(() => lab?.stop());

const LARGE = new Uint8Array(1_500_000).fill(65);
let users = 0;
/** A user without files. */
function newUser(): string {
  users += 1;
  return `attacker-${users}`;
}

/** Sends bytes through a socket, and returns the answer. */
async function sendRaw(url: string, head: readonly string[], body: string, cut = false): Promise<string> {
  const { host, hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = "";
  const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()).on("error", () => undefined));
  socket.on("data", (data) => {
    answer += data;
    if (answer.includes("\r\n\r\n")) socket.end();
  });
  socket.write([`PUT ${pathname}raw.txt HTTP/1.1`, `Host: ${host}`, ...head, "", body].join("\r\n"));
  if (cut) socket.end();
  await ended;
  return answer;
}

test("a data URL of padding only is refused at once", async () => {
  const any = `data:text/csv;base64,${"=".repeat(138_000)}x`;
  expect((await lab.call("measure", { any })).text).toMatch(/its base64 is not valid/);
  const escaped = `data:text/csv;base64,${"%3D".repeat(46_000)}x`;
  expect((await lab.call("measure", { any: escaped })).text).toMatch(/its base64 is not valid/);
});

test.each([
  ["small", LARGE.subarray(0, 1_000), 0],
  ["large", LARGE, 1],
])(
  "a %s file stays whole if its object is reset after it was stored, before the answer has arrived",
  async (_, body, parts) => {
    const user = newUser();
    const { file, url } = await lab.link(user);
    const { status } = await put(url, "reset.txt", body);
    expect(status).toBe(201);
    const { text } = await lab.call("measure", { any: file }, user);
    expect(JSON.parse(text)).toMatchObject({ bytes: body.length, name: "reset.txt" });
    expect(await lab.stored()).toHaveLength(parts);
    await lab.call("discard", { any: file }, user);
    expect(await lab.stored()).toEqual([]);
  },
);

test("a large file is stored if its object is reset after its reservation, before the answer has arrived", async () => {
  const user = newUser();
  const { file, url } = await lab.link(user);
  const response = await put(url, "reserved.txt", new Uint8Array(1_234_567).fill(65));
  expect([response.status, (await lab.stored()).length]).toEqual([201, 1]);
  expect(JSON.parse((await lab.call("measure", { any: file }, user)).text)).toMatchObject({ bytes: 1_234_567 });
  await lab.call("discard", { any: file }, user);
});

describe("a stream of a handler", () => {
  test.each([
    ["small", 500],
    ["large", 2_000_000],
  ])("that has strings is refused, not stored as other bytes: %s", async (_, bytes) => {
    const { text } = await lab.call("stream", { bytes, announced: bytes, chunk: 100, isText: true }, newUser());
    expect(text).toMatch(/has chunks that are not a Uint8Array/);
    expect(await lab.stored()).toEqual([]);
  });

  test.each([
    ["small", 500, 200],
    ["large", 2_000_000, 1_500_000],
  ])("that is longer than announced is cancelled: %s", async (_, bytes, announced) => {
    const { text, isError } = await lab.call("stream", { bytes, announced, chunk: 100 }, newUser());
    expect([isError, text]).toEqual([true, expect.stringMatching(/^cancelled: .*was longer than bytes/)]);
    expect(await lab.stored()).toEqual([]);
  });
});

// The stream itself needs memory too, so it is first read without being stored. If chunks were kept, each of them would take about
// 300 bytes. The bound is between that and what the garbage collection of a loaded machine leaves.
const CHUNKS = { timeout: 240_000 };
test.runIf(platform() === "linux")("a small file in very small chunks takes little memory", CHUNKS, async () => {
  const residentMb = () => {
    const status = readFileSync(`/proc/${lab.worker.pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_000;
  };
  const user = newUser();
  const chunks = { bytes: 400_000, announced: 400_000, chunk: 1 };
  await lab.call("stream", { ...chunks, isStored: false }, user);
  const before = residentMb();
  expect((await lab.call("stream", chunks, user)).text).toBe("closed: stored");
  expect(residentMb() - before).toBeLessThan(80);
});

test.each([
  ["an object", 1_000_000, 0],
  ["the bucket", 1_000_001, 1],
])("a file of exactly the size that belongs into %s arrives whole", async (_, bytes, stored) => {
  const user = newUser();
  const file = await lab.upload("exact.txt", new Uint8Array(bytes).fill(66), user);
  expect(await lab.stored()).toHaveLength(stored);
  expect(JSON.parse((await lab.call("measure", { any: file }, user)).text)).toMatchObject({ bytes, size: bytes });
  await lab.call("discard", { any: file }, user);
});

test("50 files that are created at the same time do not exceed the number of files", async () => {
  const user = newUser();
  const results = await Promise.all(Array.from({ length: 50 }, () => lab.call("make", { text: "a" }, user)));
  const made = results.filter(({ isError }) => !isError);
  expect(made.length).toBeLessThanOrEqual(10);
  expect(made.length).toBeGreaterThan(0);
  const more = await Promise.all(Array.from({ length: 50 }, () => lab.call("make", { text: "a" }, user)));
  expect([...results, ...more].filter(({ isError }) => !isError)).toHaveLength(10);
});

describe("an upload whose length is a lie", () => {
  test.each([
    ["longer than the content", ["Content-Length: 100"], "short", true],
    ["given twice", ["Content-Length: 5", "Content-Length: 100"], "short", true],
    ["negative", ["Content-Length: -5"], "short", false],
    ["in another notation", ["Content-Length: 0x5"], "short", false],
    ["missing", ["Transfer-Encoding: chunked"], "5\r\nshort\r\n0\r\n\r\n", false],
    ["in conflict with chunks", ["Content-Length: 3", "Transfer-Encoding: chunked"], "5\r\nshort\r\n0\r\n\r\n", false],
  ])("%s stores nothing", async (_, head, body, cut) => {
    const user = newUser();
    const { file, url } = await lab.link(user);
    const answer = await sendRaw(url, head, body, cut);
    expect(answer).not.toMatch(/^HTTP\/1.1 2/);
    expect((await lab.call("measure", { any: file }, user)).text).toMatch(/no such file/);
    expect(await lab.stored()).toEqual([]);
    expect((await put(url, "a.txt", "a")).status).toBe(201);
  });
});

test("a large upload that stops is refused after 30 s, and its place is free again", { timeout: 120_000 }, async () => {
  const user = newUser();
  const { url } = await lab.link(user);
  const { host, hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (data) => (answer += data));
  const objects = (await lab.worker.objects("McpObject", "files")).length;
  const head = `PUT ${pathname}a.txt HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 90000000\r\n\r\n`;
  socket.write(head + "a".repeat(100_000));
  await expect.poll(() => lab.worker.objects("McpObject", "files")).toHaveLength(objects + 1);
  expect(await (await put(url, "b.txt", "b")).text()).toMatch(/has not ended/);
  await expect.poll(() => answer, { timeout: 60_000 }).toMatch(/^HTTP\/1.1 408 [\s\S]*stopped for too long/);
  socket.destroy();
  await expect.poll(async () => (await put(url, "b.txt", "b")).status).toBe(201);
});

test("a link is used once, even if an upload began before its end and arrives after it", async () => {
  const user = newUser();
  const { file, url } = await lab.link(user);
  expect((await put(url, "first.txt", "first")).status).toBe(201);
  await lab.call("discard", { any: file }, user);
  const { host, hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  const answered = new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString())));
  await new Promise<void>((resolve) =>
    socket.write(`PUT ${pathname}second.txt HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 6\r\n\r\nsec`, () =>
      resolve(),
    ),
  );
  // It must arrive first. While it arrives, another upload with the link has to wait.
  const arrived = async () => (await fetch(lab.worker.url("/arrived"))).json();
  await expect.poll(arrived).toContain(`${pathname}second.txt`);
  await expect.poll(async () => (await put(url, "third.txt", "third")).text()).toMatch(/has not ended/);
  await lab.worker.advance(15 * 60_000 + 1_000);
  socket.write("ond");
  expect(await answered).toMatch(/^HTTP\/1.1 4/);
  socket.destroy();
  expect((await lab.call("measure", { any: file }, user)).text).toMatch(/no such file/);
});

describe("a download", () => {
  test("whose file is deleted meanwhile arrives whole, or fails, but does not look complete", async () => {
    const user = newUser();
    const file = await lab.upload("a.txt", new Uint8Array(30_000_000).fill(65), user);
    const { result } = await lab.call("pass", { any: file }, user);
    const [{ uri, size } = { uri: "", size: 0 }] = result.content as { uri: string; size: number }[];
    const { host, hostname, port, pathname } = new URL(uri);
    const socket = connect(Number(port), hostname);
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    let received = Buffer.from(await new Promise<Buffer>((resolve) => socket.once("data", resolve)));
    socket.pause();
    expect(received.toString("latin1")).toMatch(/^HTTP\/1.1 200 [\s\S]*content-length: 30000000\r\n/i);
    expect((await lab.call("discard", { any: uri }, user)).text).toBe("deleted");
    const chunks = [received];
    const ended = new Promise((resolve) => socket.once("close", resolve));
    socket.on("data", (data) => chunks.push(data)).on("error", () => undefined);
    socket.resume();
    await ended;
    received = Buffer.concat(chunks);
    const body = received.subarray(received.indexOf("\r\n\r\n") + 4);
    // Content-Length shows the client that less is not the whole file.
    expect(body.length).toBeLessThanOrEqual(size);
    expect(body.every((byte: number) => byte === 65)).toBe(true);
    const after = await fetch(uri);
    expect([after.status, await after.text()]).toEqual([410, expect.stringMatching(/^The file was deleted\./)]);
    await lab.call("discard", { any: file }, user);
  });

  async function made(): Promise<string> {
    const { result } = await lab.call("make", { text: "0123456789" }, newUser());
    return (result.content as { uri: string }[])[0]?.uri ?? "";
  }

  test("ignores a range of HEAD, and a range of another version of the file", async () => {
    const uri = await made();
    const head = await fetch(uri, { method: "HEAD", headers: { range: "bytes=2-3" } });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "10"]);
    const other = await fetch(uri, { headers: { range: "bytes=2-3", "if-range": '"another"' } });
    expect([other.status, await other.text()]).toEqual([200, "0123456789"]);
  });

  test.each([
    "bytes=0-",
    "bytes=-0",
    "bytes=9-9",
    "bytes=0-999999999999999",
    "bytes=-99999",
    "bytes=10-",
    "bytes=99999999999999999999-",
    "bytes= 1-2",
    "bytes=1-2,",
    "",
  ])("answers the range %j with the bytes that it announces", async (range) => {
    const response = await fetch(await made(), { headers: { range } });
    const [, first, last] = /^bytes (\d+)-(\d+)\/10$/.exec(response.headers.get("content-range") ?? "") ?? [];
    const text = await response.text();
    expect([200, 206, 416]).toContain(response.status);
    if (response.status === 206) expect(text).toBe("0123456789".slice(Number(first), Number(last) + 1));
    if (response.status === 200) expect(text).toBe("0123456789");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("cannot be read by pages of other origins", async () => {
    const uri = await made();
    const headers = { origin: "https://evil.example", "access-control-request-method": "PUT" };
    for (const method of ["OPTIONS", "GET"]) {
      const response = await fetch(uri, { method, headers });
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
      expect(response.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    }
  });
});

describe("a declared type", () => {
  const document = new Uint8Array(60);
  document.set([80, 75, 3, 4]);
  document[26] = 19;
  document.set(new TextEncoder().encode("[Content_Types].xml"), 30);

  test("of any length is not stored", async () => {
    const { url } = await lab.link(newUser());
    const type = `application/vnd.openxmlformats-officedocument.${"a".repeat(3_000)}`;
    const response = await put(url, "a.bin", document, type);
    expect(await response.json()).toMatchObject({ type: "application/zip" });
  });

  test.each([
    "text/html; charset=utf-7",
    "TEXT/HTML",
    "text/html\t",
    ",text/html",
    "constructor",
    "__proto__",
    "image/svg+xml",
  ])("%j has no other effect than to be checked", async (type) => {
    const { url } = await lab.link(newUser());
    const response = await put(url, "a", "+ADw-script+AD4-", type);
    const text = await response.text();
    expect(text).toMatch(/"type":"text\/plain"|declared as HTML, but its content is text/);
  });
});

test("strangers whose uploads never end leave places to callers with a principal", async () => {
  const links = await Promise.all(Array.from({ length: 200 }, () => lab.link()));
  const answers: string[] = [];
  const sockets = links.map(({ url }) => {
    const { host, hostname, port, pathname } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined).on("data", (data) => answers.push(data.toString().slice(0, 12)));
    socket.write(`PUT ${pathname}a.txt HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000000\r\n\r\nabc`);
    return socket;
  });
  // More than a third are refused, because the isolate does not receive more.
  await expect.poll(() => answers.filter((answer) => answer === "HTTP/1.1 503").length).toBeGreaterThan(70);
  await lab.upload("mine.txt", "mine", newUser());
  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => (await put((await lab.link()).url, "a.txt", "a")).status).toBe(201);
});

const CONTENT = { "content-type": "application/json", accept: "application/json, text/event-stream" };
/** Opens a session, whose handlers run in an object. Returns its headers. */
async function openSession(user: string): Promise<Record<string, string>> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a", version: "1" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const headers = { ...CONTENT, "x-user": user };
  const response = await fetch(lab.worker.url("/mcp"), { method: "POST", headers, body });
  await response.text();
  return { "x-user": user, "mcp-session-id": response.headers.get("mcp-session-id") ?? "" };
}

test("requests that the platform has ended do not count for ever as uploads", async () => {
  const user = newUser();
  for (let round = 0; round < 8; round += 1) {
    const headers = { ...(await openSession(user)), ...CONTENT };
    const params = { name: "vanish", arguments: {} };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params });
    // The answer is cut off.
    await fetch(lab.worker.url("/mcp"), { method: "POST", headers, body })
      .then((response) => response.text())
      .catch(() => undefined);
  }
  expect(await (await put((await lab.link(user)).url, "a.txt", "a")).text()).toMatch(/receiving too many files/);
  await lab.worker.advance(2 * 60_000);
  await lab.upload("a.txt", "a", user);
});

test("files that are stored while the last other one is deleted are kept", async () => {
  const user = newUser();
  let last = await lab.upload("0.txt", "0", user);
  for (let round = 1; round <= 15; round += 1) {
    const [next] = await Promise.all([
      lab.upload(`${round}.txt`, String(round), user),
      lab.call("discard", { any: last }, user),
    ]);
    last = next ?? "";
  }
  await lab.worker.restart();
  expect(JSON.parse((await lab.call("measure", { any: last }, user)).text)).toMatchObject({ name: "15.txt" });
});

test("during an outage of the bucket, small files are deleted on time, and large files after it", async () => {
  const user = newUser();
  await lab.upload("small.txt", "a", user);
  const before = (await lab.worker.objects("McpObject", "files")).length;
  await lab.upload("large.txt", LARGE, user);
  const [, large] = [await lab.upload("other.txt", LARGE, newUser()), (await lab.stored()).length];
  expect(large).toBe(2);
  await fetch(lab.worker.url("/outage"));
  await lab.worker.advance(62 * 60_000).catch(() => undefined);
  expect(await lab.stored()).toHaveLength(2);
  await fetch(lab.worker.url("/outage"));
  await lab.worker.advance(10 * 60_000);
  expect(await lab.stored()).toEqual([]);
  expect((await lab.worker.objects("McpObject", "files")).length).toBeLessThan(before);
});
