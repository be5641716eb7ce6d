/** Files that tools return, as links. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import { FilesLab, put } from "./support.ts";

expectLogs(/^mcp-edge: "tools\/call" "make" failed .*the content is not image\/png/);

let lab: FilesLab;
beforeAll(async () => {
  lab = await FilesLab.start();
});
afterAll(() => lab?.stop());

let users = 0;
interface Made {
  readonly uri: string;
  readonly [member: string]: unknown;
}

/** Lets a new user call the tool that returns a file. */
async function make(args: Record<string, unknown>): Promise<Made> {
  users += 1;
  const { result, text } = await lab.call("make", args, `user-${users}`);
  const [block] = result.content as Made[];
  if (block?.type !== "resource_link") throw new Error(text);
  return block;
}

test("a tool returns a link with the name, type, size and end of the file", async () => {
  const { uri, ...link } = await make({ name: "sums.csv", type: "text/csv", text: "a,b\n1,2\n" });
  expect(link).toEqual({
    type: "resource_link",
    name: "sums.csv",
    mimeType: "text/csv",
    size: 8,
    description: expect.stringMatching(/^Made\. The link works until \d{4}-\d\d-\d\dT[\d:.]+Z\.$/),
  });
  expect(uri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/files\/[\w-]{95}\/sums\.csv$/);
  // The link needs no other credential, and says nothing about the user.
  const response = await fetch(uri);
  expect([response.status, await response.text()]).toEqual([200, "a,b\n1,2\n"]);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "accept-ranges": "bytes",
    "cache-control": "no-store",
    "content-disposition": `attachment; filename="sums.csv"; filename*=UTF-8''sums.csv`,
    "content-length": "8",
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "content-type": "text/csv",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  });
});

test.each([
  ["small", 0],
  ["large", 200],
])("a %s file can be read in parts", async (_, repeat) => {
  const text = "0123456789".repeat(1_000);
  const { uri, size } = await make({ name: "a.txt", type: "text/plain", text, repeat });
  const part = async (range: string) => {
    const response = await fetch(uri, { headers: { range } });
    return [response.status, response.headers.get("content-range"), await response.text()];
  };
  expect(await part("bytes=2-4")).toEqual([206, `bytes 2-4/${size}`, "234"]);
  expect(await part("bytes=-3")).toEqual([206, `bytes ${Number(size) - 3}-${Number(size) - 1}/${size}`, "789"]);
  expect((await part(`bytes=${Number(size) - 2}-`))[2]).toBe("89");
  expect(await part(`bytes=${size}-`)).toEqual([416, `bytes */${size}`, "The file is shorter.\n"]);
  for (const whole of ["bytes=4-2", "bytes=0-1,3-4", "items=0-1", "bytes=-"])
    expect([whole, (await part(whole))[0]]).toEqual([whole, 200]);
  const head = await fetch(uri, { method: "HEAD" });
  expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, String(size), ""]);
});

test("a stream is returned through the bucket, and one of another length is not stored", async () => {
  const { uri, size } = await make({ name: "a.txt", type: "text/plain", text: "x".repeat(1_000), repeat: 3_000 });
  expect([size, (await (await fetch(uri)).arrayBuffer()).byteLength]).toEqual([3_000_000, 3_000_000]);
  const before = await lab.stored();
  expect((await lab.call("cheat", {}, "cheater")).text).toMatch(/the file was not stored: the stream ended early/);
  expect(await lab.stored()).toEqual(before);
});

test("a result that is too large tells the model so", async () => {
  const made = { name: "a.txt", type: "text/plain", text: "x".repeat(1_000), repeat: 1_001 };
  const { text, isError } = await lab.call("make", made, "ada", "/small");
  expect([isError, text]).toEqual([
    true,
    "The result has 1.1 MB, but the server stores at most 1 MB. Its author can add a bucket for larger files.",
  ]);
});

test("a link that was cut or whose file was deleted says what to do", async () => {
  const { uri } = await make({ name: "a.txt", type: "text/plain", text: "a" });
  const cut = await fetch(uri.replace(/.{9}\/a\.txt$/, ""));
  expect([cut.status, await cut.text()]).toEqual([
    404,
    "There is no such link. Check that it was copied completely, or ask for a new one.\n",
  ]);
  await lab.call("discard", { any: uri }, `user-${users}`);
  const deleted = await fetch(uri);
  expect([deleted.status, await deleted.text()]).toEqual([
    410,
    "The file was deleted. Ask the assistant to create the file again.\n",
  ]);
});

describe("a file", () => {
  test("whose content does not fit its type is a mistake of the tool, and is not stored", async () => {
    const { text } = await lab.call("make", { name: "a.png", type: "image/png", text: "<script>" }, "wrong");
    expect(text).toMatch(/Tool "make" failed/);
  });

  test.each([
    ["../../etc/passwd", "passwd.txt"],
    ['a"; filename="b.html', "a__ filename=_b.txt"],
    ["a\r\nSet-Cookie: x=1", "a Set-Cookie_ x=1.txt"],
    ["Größe 2026 – Ω.csv", "Größe 2026 – Ω.txt"],
    ["‮gpj.exe", "gpj.exe.txt"],
  ])("with the name %j is stored as %j", async (given, name) => {
    const { uri, name: shown } = await make({ name: given, type: "text/plain", text: "a" });
    expect(shown).toBe(name);
    const response = await fetch(uri);
    const header = response.headers.get("content-disposition") ?? "";
    expect(decodeURIComponent(/filename\*=UTF-8''(\S+)$/.exec(header)?.[1] ?? "")).toBe(name);
    expect(header).not.toMatch(/[^\x20-\x7e]/);
    expect(response.headers.get("set-cookie")).toBeNull();
  });

  test("can be passed on to another tool of the same user, by its link", async () => {
    const { result } = await lab.call("make", { name: "a.csv", type: "text/csv", text: "a,b\n" }, "ada");
    const [{ uri } = { uri: "" }] = result.content as Made[];
    expect((await lab.call("lines", { report: uri }, "ada")).text).toMatch(/^1 lines in a\.csv/);
    expect((await lab.call("lines", { report: uri }, "eve")).text).toMatch(/no such file/);
  });
});

test("a link for a download cannot be used to upload, nor a link for an upload to read", async () => {
  const { uri } = await make({ name: "a.txt", type: "text/plain", text: "first" });
  for (const method of ["PUT", "POST", "DELETE"]) {
    const response = await fetch(uri, { method, ...(method === "DELETE" ? {} : { body: "second" }) });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  }
  expect(await (await fetch(uri)).text()).toBe("first");
  const { url } = await lab.link("ada");
  await put(url, "secret.txt", "secret of ada");
  const page = await (await fetch(url)).text();
  expect(page).toContain("This link has been used.");
  expect(page).not.toMatch(/secret/);
});
