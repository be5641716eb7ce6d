/** Files that are uploaded to a link, and then used as arguments. */
import { connect } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/protocol/jsonrpc.ts";
import { ModernClient, readAnswer } from "../worker/client.ts";
import { announce, FilesLab, put } from "./support.ts";

let lab: FilesLab;
beforeAll(async () => {
  lab = await FilesLab.start();
});
afterAll(() => lab?.stop());

async function connect2(url: string): Promise<Client> {
  const client = new Client({ name: "reader", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

const CSV = "name,sum\na,1\nb,2\n";
/** More than an object stores, so that the bucket has it. */
const LARGE = new Uint8Array(1_500_000).fill(65);

const users = { count: 0 };
/** A user without files. */
function newUser(): string {
  users.count += 1;
  return `user-${users.count}`;
}

test("a model creates a link, a file is uploaded to it, and a tool reads it", async () => {
  const { file, url } = await lab.link("ada");
  const response = await put(url, "sales 2026.csv", CSV);
  expect(response.status).toBe(201);
  expect(await response.json()).toEqual({ file, name: "sales 2026.csv", type: "text/csv", bytes: CSV.length });
  const { text } = await lab.call("lines", { report: file, times: 2 }, "ada");
  expect(text).toBe("6 lines in sales 2026.csv (text/csv, 17 bytes)");
});

test("the answer of an upload names the file as handlers receive it, and ends with a line break", async () => {
  const { file, url } = await lab.link("ada");
  const text = await (await put(url, "report.exe", "a\n", "text/plain")).text();
  expect(text).toMatch(/\}\n$/);
  expect(JSON.parse(text)).toEqual({ file, name: "report.exe.txt", type: "text/plain", bytes: 2 });
});

test("the description of an argument says how this server takes files, for tools that are added later too", async () => {
  const describe = async (path: string, tool: string) => {
    const { raw } = await readAnswer(new ModernClient(lab.worker.url(path)).request("tools/list"));
    const property = `"name":"${tool}".*?"any":\\{"type":"string","description":"(.*?)"`;
    return new RegExp(property).exec(raw)?.[1];
  };
  const described = (size: string) =>
    `A file (at most ${size}): the id of an uploaded file (file_...); or, for at most 96 KB, a data: URL in base64. If you cannot provide it, leave it out: the answer says how to upload it.`;
  expect(await describe("/mcp", "measure")).toBe(described("100 MB"));
  expect(await describe("/small", "measure")).toBe(described("1 MB"));
  expect(await describe("/small", "late")).toBe(described("1 MB"));
});

test("a large file is stored in the bucket, and streamed to the handler", async () => {
  const file = await lab.upload("large.txt", LARGE, "ada");
  expect((await lab.stored()).map(({ size }) => size)).toEqual([LARGE.length]);
  const { text } = await lab.call("measure", { any: file }, "ada");
  expect(JSON.parse(text)).toEqual({ bytes: LARGE.length, name: "large.txt", type: "text/plain", size: LARGE.length });
  expect((await lab.call("discard", { any: file }, "ada")).text).toBe("deleted");
  expect(await lab.stored()).toEqual([]);
  expect((await lab.call("measure", { any: file }, "ada")).text).toMatch(/no such file/);
});

test("the link of an upload can be passed in place of the id, and no other URL is requested", async () => {
  const { url } = await lab.link("ada");
  await put(url, "a.csv", CSV);
  expect((await lab.call("lines", { report: url }, "ada")).text).toMatch(/^3 lines/);
  for (const other of [
    "https://example.com/a.csv",
    "file:///etc/passwd",
    "/etc/passwd",
    "http://127.0.0.1:1/files/abc",
  ])
    expect((await lab.call("lines", { report: other }, "ada")).text).toMatch(/There is no such file/);
});

test("a large file that is refused by its content leaves nothing in the bucket, and its link still works", async () => {
  const user = newUser();
  const { file, url } = await lab.link(user);
  // Its last byte shows that it is not text.
  const refused = await put(url, "a.csv", new Uint8Array([...LARGE, 0]), "text/csv");
  expect([refused.status, await refused.text()]).toEqual([415, expect.stringMatching(/^The file was refused/)]);
  expect(await lab.stored()).toEqual([]);
  expect((await put(url, "a.txt", LARGE)).status).toBe(201);
  await lab.call("discard", { any: file }, user);
  expect(await lab.stored()).toEqual([]);
});

describe("a link works once", () => {
  test.each([
    ["small", CSV],
    ["large", LARGE],
  ])("for a %s file; the first file stays", async (_, body) => {
    const user = newUser();
    const { file, url } = await lab.link(user);
    expect((await put(url, "first.txt", body)).status).toBe(201);
    const again = await put(url, "second.txt", body);
    expect([again.status, await again.text()]).toEqual([
      409,
      expect.stringMatching(/^The link has been used: .* as file_/),
    ]);
    expect(JSON.parse((await lab.call("measure", { any: file }, user)).text)).toMatchObject({ name: "first.txt" });
    await lab.call("discard", { any: file }, user);
    // Not even after the file was deleted.
    expect((await put(url, "third.txt", body)).status).toBe(409);
    expect(await lab.stored()).toEqual([]);
  });

  test.each([
    ["small", CSV],
    ["large", LARGE],
  ])("for %s files that arrive at the same time", async (_, body) => {
    const user = newUser();
    const { file, url } = await lab.link(user);
    const responses = await Promise.all(Array.from({ length: 6 }, (_, at) => put(url, `${at}.txt`, body)));
    const statuses = responses.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 409, 409, 409, 409, 409]);
    expect((await lab.stored()).length).toBe(body === LARGE ? 1 : 0);
    await lab.call("discard", { any: file }, user);
    expect(await lab.stored()).toEqual([]);
  });
});

describe("another caller", () => {
  test.each([
    ["another user", "eve"],
    ["nobody", undefined],
  ])("who is %s cannot use a file, by its id or its link", async (_, other) => {
    const { file, url } = await lab.link("ada");
    await put(url, "a.csv", CSV);
    for (const report of [file, url])
      expect((await lab.call("lines", { report }, other)).text).toMatch(/There is no such file/);
    expect((await lab.call("discard", { any: file }, other)).isError).toBe(true);
    expect((await lab.call("lines", { report: file }, "ada")).text).toMatch(/^3 lines/);
  });

  test("cannot use the file of an anonymous caller as a user, and anonymous callers need the id", async () => {
    const file = await lab.upload("a.csv", CSV);
    expect((await lab.call("lines", { report: file })).text).toMatch(/^3 lines/);
    expect((await lab.call("lines", { report: file }, "ada")).text).toMatch(/There is no such file/);
  });

  test("of another endpoint of the Worker cannot use a link or a file", async () => {
    const { file, url } = await lab.link("ada", "/small");
    const elsewhere = url.replace("/small-files/", "/files/");
    expect((await put(elsewhere, "a.csv", CSV)).status).toBe(404);
    expect((await put(url, "a.csv", CSV)).status).toBe(201);
    expect((await lab.call("lines", { report: file }, "ada")).text).toMatch(/There is no such file/);
    expect((await lab.call("lines", { report: file }, "ada", "/small")).text).toMatch(/^3 lines/);
  });
});

describe("a link", () => {
  test("that was altered in any byte, or is not one, is not found", async () => {
    const { url } = await lab.link("ada");
    const [, sealed = ""] = /\/files\/([^/]+)\/$/.exec(url) ?? [];
    for (let at = 0; at < sealed.length; at += 7) {
      const altered = sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1);
      expect((await put(url.replace(sealed, altered), "a.csv", CSV)).status).toBe(404);
    }
    for (const path of ["/files/", "/files/x", `/files/${"A".repeat(9_000)}/`])
      expect((await fetch(lab.worker.url(path))).status).toBe(404);
  });

  test.each([
    [405, "POST", CSV, {}],
    [405, "DELETE", undefined, {}],
    [415, "PUT", CSV, { "content-encoding": "gzip" }],
    [422, "PUT", "", {}],
  ])("answers %i to %s with what is not accepted", async (status, method, body, headers) => {
    const { url } = await lab.link("ada");
    const response = await fetch(`${url}a.csv`, { method, headers, ...(body === undefined ? {} : { body }) });
    expect(response.status).toBe(status);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("answers 413 to a file that is announced as too large", async () => {
    const { url } = await lab.link("ada");
    expect(await announce(url, "a.csv", 100_000_001)).toMatchObject({ status: 413 });
  });

  test("needs the length of the content", async () => {
    const { url } = await lab.link("ada");
    const { host, hostname, port, pathname } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `PUT ${pathname}a.csv HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na,b\r\n0\r\n\r\n`,
    );
    const answer = await new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString())));
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1.1 411 /);
  });
});

test("one link, and one caller, can keep only a few uploads waiting in memory", async () => {
  const user = newUser();
  const sockets = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const { host, hostname, port, pathname } = new URL((await lab.link(user)).url);
      const socket = connect(Number(port), hostname);
      socket.on("error", () => undefined);
      const head = `PUT ${pathname}a.txt HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000000\r\n\r\n`;
      await new Promise<void>((resolve) => socket.write(`${head}abc`, () => resolve()));
      return { socket, pathname };
    }),
  );
  const { url } = await lab.link(user);
  await expect.poll(async () => (await put(url, "b.png", "not an image", "image/png")).status).toBe(503);
  const same = await put(lab.worker.url(sockets[0]?.pathname ?? ""), "c.txt", "c");
  expect([same.status, await same.text()]).toEqual([409, expect.stringMatching(/^Another upload with this link/)]);
  await lab.upload("d.txt", "d", newUser());
  for (const { socket } of sockets) socket.destroy();
  await expect.poll(async () => (await put(url, "b.txt", "b")).status).toBe(201);
});

test("without a bucket, a file that is announced with more than 1 MB is refused", async () => {
  const { url } = await lab.link("ada", "/small");
  const refused = await announce(url, "large.txt", LARGE.length);
  expect(refused).toEqual({ status: 413, text: "The file is too large: at most 1 MB.\n" });
});

test.each([
  ["/mcp", "100 MB"],
  ["/small", "1 MB"],
])("the schema of a tool, and the instructions for an upload, have the size that %s can store", async (path, size) => {
  const client = await connect2(lab.worker.url(path));
  const { tools } = await client.listTools();
  const properties = tools.find(({ name }) => name === "measure")?.inputSchema.properties as { any: JsonObject };
  expect(properties.any.description).toContain(`(at most ${size})`);
  await client.close();
  expect((await lab.call("create_upload", {}, "ada", path)).text).toContain(`Upload a file (at most ${size})`);
  expect((await lab.call("lines", {}, "ada", path)).text).toContain("Upload a file (CSV, at most 1 MB)");
});

describe("a repeated upload", () => {
  test("of the same small file has the same result, because its answer may have been lost", async () => {
    const user = newUser();
    const { file, url } = await lab.link(user);
    const first = await (await put(url, "a.csv", CSV)).json();
    const again = await put(url, "a.csv", CSV);
    expect([again.status, await again.json()]).toEqual([201, first]);
    for (const [name, body] of [
      ["b.csv", CSV],
      ["a.csv", CSV.replace("1", "3")],
    ] as const)
      expect((await put(url, name, body)).status).toBe(409);
    await lab.call("discard", { any: file }, user);
    expect((await put(url, "a.csv", CSV)).status).toBe(409);
  });

  test("of a large file is refused with the id of the first one", async () => {
    const user = newUser();
    const { file, url } = await lab.link(user);
    await put(url, "a.txt", LARGE);
    expect(await (await put(url, "a.txt", LARGE)).text()).toContain(`a file has arrived as ${file}.`);
    await lab.call("discard", { any: file }, user);
  });
});

test("a large file of a wrong type is refused after its first bytes, without a place or a part in the bucket", async () => {
  const { url } = await lab.link(newUser());
  const { host, hostname, port, pathname } = new URL(url);
  const objects = await lab.worker.objects("McpObject", "files");
  const socket = connect(Number(port), hostname);
  const head = ["Content-Type: image/png", "Content-Length: 90000000", "", "a,b\n".repeat(1_000)];
  socket.write([`PUT ${pathname}a.png HTTP/1.1`, `Host: ${host}`, ...head].join("\r\n"));
  // The rest is never sent.
  const answer = await new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString())));
  socket.destroy();
  expect(answer).toMatch(/^HTTP\/1.1 415 [\s\S]*it is declared as PNG, but its content is text/);
  expect(await lab.stored()).toEqual([]);
  expect(await lab.worker.objects("McpObject", "files")).toEqual(objects);
});

describe("each caller", () => {
  test.each([
    ["small", CSV],
    ["large", LARGE],
  ])("can store a number of %s files, also at the same time", async (_, body) => {
    const user = newUser();
    const links = await Promise.all(Array.from({ length: 8 }, () => lab.link(user)));
    const responses = await Promise.all(links.map(({ url }, at) => put(url, `${at}.txt`, body)));
    const statuses = responses.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 201, 201, 201, 201, 507, 507, 507]);
    expect((await lab.call("make", { name: "a.txt", type: "text/plain", text: "a" }, user)).text).toMatch(/no room/);
    // Another user has room, and so does this one when a file was deleted.
    await lab.upload("b.txt", body, newUser());
    const [first] = links.filter((_, at) => responses[at]?.status === 201);
    await lab.call("discard", { any: first?.file }, user);
    await lab.upload("again.txt", body, user);
  });
});
