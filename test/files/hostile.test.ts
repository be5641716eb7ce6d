/** Files that are not what they say, and arguments that are no files. */

import { deflateRawSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withExtension } from "../../src/files/media-types.ts";
import { ModernClient, readAnswer } from "../worker/client.ts";
import { FilesLab, put } from "./support.ts";

let lab: FilesLab;
beforeAll(async () => {
  lab = await FilesLab.start();
});
afterAll(() => lab?.stop());

let users = 0;
/** Uploads a file as a new user. */
async function send(name: string, body: string | Uint8Array<ArrayBuffer>, type?: string) {
  users += 1;
  const user = `user-${users}`;
  const { file, url } = await lab.link(user);
  const response = await put(url, name, typeof body === "string" ? new TextEncoder().encode(body) : body, type);
  return { file, user, status: response.status, text: await response.text() };
}

const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const PNG = bytes("\x89PNG\r\n\x1a\n\0\0\0\rIHDR");

describe("content that does not fit its declared type is refused", () => {
  test.each([
    ["HTML as an image", "a.png", "<!DOCTYPE html><script>alert(1)</script>", "image/png"],
    ["SVG as an image", "a.png", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', "image/png"],
    ["HTML as CSV", "a.csv", " \n<script>alert(1)</script>,b\n", "text/csv"],
    ["HTML behind white space as CSV", "a.csv", `${" ".repeat(2_000)}<html>`, "text/csv"],
    ["HTML behind the white space of a large file", "a.csv", `\ufeff${"\n".repeat(1_100_000)}<html>`, "text/csv"],
    ["HTML as JSON", "a.json", "<html>", "application/json"],
    ["white space as JSON", "a.json", " ".repeat(2_000), "application/json"],
    ["a program as an image", "a.jpg", bytes("MZ\x90\0\x03\0\0\0"), "image/jpeg"],
    ["an image as another image", "a.gif", PNG, "image/gif"],
    ["an image as CSV", "a.csv", PNG, "text/csv"],
    ["binary data behind a line of CSV", "a.csv", bytes(`a,b\n${"1,2\n".repeat(50_000)}\0`), "text/csv"],
    ["escape sequences of a terminal as text", "a.txt", "a\u001b]0;title\u0007", "text/plain"],
    ["escape sequences in one character as text", "a.txt", "a\u009d0;title\u009c", "text/plain"],
    ["such a sequence far behind", "a.csv", `${"a,b\n".repeat(40_000)}\u009b2J`, "text/csv"],
    [
      "a ZIP archive as a document",
      "a.docx",
      bytes("PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.exe"),
      DOCX(),
    ],
    [
      "a ZIP archive as an EPUB",
      "a.epub",
      bytes("PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.exe"),
      "application/epub+zip",
    ],
    ["a PDF as text", "a.txt", "%PDF-1.4\n", "text/plain"],
  ])("%s", async (_, name, body, type) => {
    const { status, text } = await send(name, body, type);
    expect([status, text]).toEqual([
      415,
      expect.stringMatching(/^The file was refused: it is declared as .*, but its content is /),
    ]);
  });
});

test.each([2_000, 1_100_000])("JSON behind %i characters of white space is accepted", async (length) => {
  const { status, text } = await send("a.json", `${" ".repeat(length)}{}`, "application/json");
  expect([status, text]).toEqual([201, expect.stringContaining('"type":"application/json"')]);
});

describe("text in another encoding than UTF-8 is refused, with what its owner can do", () => {
  test.each([
    ["UTF-16", bytes("\xff\xfea\0,\0b\0"), "text/plain"],
    ["UTF-16 of Excel", bytes("\xff\xfea\0,\0b\0"), "text/csv"],
    ["UTF-16, big-endian", bytes("\xfe\xff\0a\0,\0b"), "text/csv"],
    ["Latin-1", bytes("name,sum\r\nM\xfcller,5\r\n"), "text/csv"],
    ["a large file in Latin-1", bytes(`M\xfcller,5\r\n${"a,1\r\n".repeat(300_000)}`), "text/csv"],
    ["invalid UTF-8", bytes("a\xc3(b"), "text/plain"],
    ["a text that ends within a character", bytes("a\xe2\x82"), "text/plain"],
  ])("%s", async (_, body, type) => {
    const { status, text } = await send("a.csv", body, type);
    const told = "The file was refused: its text is not UTF-8. Save it as UTF-8 (in Excel: CSV UTF-8) and try again.\n";
    expect([status, text]).toEqual([415, told]);
  });

  test("also if the type was not declared", async () => {
    const { file, user } = await send("a.csv", bytes("M\xfcller,5\n"), "application/octet-stream");
    const { text } = await lab.call("lines", { report: file }, user);
    expect(text).toContain(
      'The file of "report" was refused: its text is not UTF-8. Save it as UTF-8 (in Excel: CSV UTF-8) and try again. Upload a file',
    );
  });
});

function DOCX(): string {
  return "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
}

/** The first bytes of an archive whose first entry has this name and content. */
function archive(name: string, content = ""): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(30);
  head.set(bytes("PK\x03\x04\x14\0"));
  head[26] = name.length;
  return bytes(String.fromCharCode(...head) + name + content);
}

test.each([
  ["a.png", PNG, undefined, "image/png"],
  ["a.txt", PNG, undefined, "image/png"],
  ["a.csv", "a,b\n", "application/octet-stream", "text/csv"],
  ["a.csv", "a,b\n", "application/x-www-form-urlencoded", "text/csv"],
  ["a.csv", "\u{feff}ä,b\r\n", "text/plain; charset=utf-8", "text/csv"],
  ["a.html", "<!doctype html><p>", undefined, "text/html"],
  ["a", "<!doctype html><p>", undefined, "text/html"],
  ["a.png", "<svg/>", undefined, "application/xml"],
  ["a.csv", "<foo>,1\n", undefined, "text/csv"],
  ["a.xml", "<foo>1</foo>", undefined, "application/xml"],
  ["a.json", '{"a":1}', undefined, "application/json"],
  ["a.docx", archive("[Content_Types].xml"), undefined, DOCX()],
  [
    "a.odt",
    archive("mimetype", "application/vnd.oasis.opendocument.textPK\x03\x04"),
    undefined,
    "application/vnd.oasis.opendocument.text",
  ],
  ["a.zip", archive("a.txt"), undefined, "application/zip"],
  ["a.csv", bytes("\xff\xfea\0,\0b\0"), undefined, "application/octet-stream"],
  ["a.bin", bytes("\0\x01\x02"), undefined, "application/octet-stream"],
  ["a.bin", bytes("\0\x01\x02"), "application/x-unknown", "application/octet-stream"],
])(
  "%s has the type that its content shows, not the type that its name suggests",
  async (name, body, declared, type) => {
    const { status, text } = await send(name, body, declared);
    expect(status).toBe(201);
    expect(JSON.parse(text)).toMatchObject({ type });
  },
);

describe("a tool that takes CSV", () => {
  test.each([
    [
      "an Excel workbook",
      "a.csv",
      archive("[Content_Types].xml"),
      /an Excel workbook \(or a ZIP archive\)\. Save it as CSV \(in Excel: CSV UTF-8\); accepted are CSV/,
    ],
    [
      "an image",
      "a.csv",
      PNG,
      /its content is PNG; accepted are CSV\. Upload a file \(CSV, at most 1 MB\) .*\n- Run: curl -T FILE 'http/,
    ],
    ["a page", "a.csv", "<html>", /its content is HTML; accepted are CSV/],
    ["an SVG", "a.csv", '<?xml version="1.0"?>\n<svg>', /its content is SVG; accepted are CSV/],
    [
      "a larger file",
      "a.csv",
      "1,2\n".repeat(250_001),
      /it has 1\.1 MB, and at most 1 MB are accepted\. Upload a file .*\n- Run: curl/,
    ],
  ])("refuses %s", async (_, name, body, problem) => {
    const { file, user } = await send(name, body);
    const { text, isError } = await lab.call("lines", { report: file }, user);
    expect([isError, text]).toEqual([true, expect.stringMatching(problem)]);
  });
});

describe("the name of a file", () => {
  test.each([
    ["..%2f..%2fetc%2fpasswd", "passwd"],
    ["C%3A%5CUsers%5Cada%5Ca.txt", "a.txt"],
    ["%2e%2e", "file"],
    [".htaccess", "htaccess"],
    ["a%00b.txt", "ab.txt"],
    ["%E2%80%AEtxt.exe", "txt.exe"],
    ["%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E.txt", "_img src=x onerror=alert(1)_.txt"],
    ["CON.txt", "_CON.txt"],
    ["nul%20.txt", "_nul .txt"],
    ["com%C2%B9.txt", "_com¹.txt"],
    [`aux.${"%C3%A4".repeat(300)}`, `_aux.${"ä".repeat(125)}`],
    ["a.txt.%20.%20", "a.txt"],
    ["%24(id)%60id%60.txt", "_(id)_id_.txt"],
    ["-rf", "rf"],
    ["%ff%fe", "_ff_fe"],
    [`${"%C3%A4".repeat(300)}.csv`, `${"ä".repeat(125)}.csv`],
  ])("%s becomes %j", async (segment, name) => {
    const { file, url } = await lab.link(`namer-${segment.slice(0, 20)}`);
    const response = await fetch(url + segment, { method: "PUT", body: "a" });
    // The browser and fetch resolve a segment of dots before they send it.
    if (segment === "%2e%2e") return expect(response.status).toBe(404);
    const stored = (await response.json()) as { readonly type: string };
    // Its extension is corrected too.
    expect(stored).toMatchObject({ file, name: withExtension(name, stored.type) });
  });
});

test.each([
  ["report.exe", "report.exe.csv"],
  ["report.html", "report.csv"],
  ["report", "report.csv"],
  ["Report.CSV", "Report.CSV"],
  [`${"x".repeat(251)}.csv`, `${"x".repeat(251)}.csv`],
  ["y".repeat(255), `${"y".repeat(251)}.csv`],
])("a handler that takes CSV receives %s under a name with its extension", async (given, name) => {
  const { file, user } = await send(given, "a,b\n");
  expect((await lab.call("lines", { report: file }, user)).text).toContain(` lines in ${name} (text/csv`);
});

test.each([
  ["a/b/c.csv", "c.csv"],
  ["files/c.csv", "c.csv"],
  ["a/files/b.csv", "b.csv"],
])("a client that sends the folders %s too stores the last name", async (path, name) => {
  const { url } = await lab.link("folders");
  const response = await fetch(url + path, { method: "PUT", body: "a,b\n" });
  expect(await response.json()).toMatchObject({ name });
});

describe("an archive that unpacks to a thousand times its size", () => {
  test("is stored as it is, and a handler can bound what it reads", async () => {
    const packed = deflateRawSync(new Uint8Array(50_000_000));
    const body = new Uint8Array([...archive("zeros.bin"), ...packed]);
    const { file, user, text } = await send("bomb.zip", body);
    expect(JSON.parse(text)).toMatchObject({ bytes: body.length, type: "application/zip" });
    expect((await lab.call("bounded", { any: file, max: 1_000 }, user)).text).toBe(
      `The file has ${Math.ceil(body.length / 1_000)} KB; at most 1 KB are read.`,
    );
    expect((await lab.call("bounded", { any: file, max: 1_000_000 }, user)).text).toBe(String(body.length));
  });
});

describe("an argument", () => {
  test.each([
    ["a data URL", `data:text/csv;base64,${btoa("a,b\n1,2\n")}`, /^2 lines in report\.csv \(text\/csv, 8 bytes\)/],
    ["a data URL without padding", "data:text/csv;base64,YSxi", /^1 lines/],
    ["a data URL for URLs", "data:text/csv;base64,YSxiCj8_Pw", /^2 lines/],
    ["a data URL of HTML as CSV", `data:text/csv;base64,${btoa("<html>")}`, /refused: it is declared as CSV, but/],
    [
      "a data URL of an image",
      `data:image/png;base64,${btoa("\x89PNG\r\n\x1a\n")}`,
      /accepted are CSV\. Upload a file/,
    ],
    [
      "a data URL that was cut",
      `data:text/csv;base64,${btoa("a,b\n1,2\n").slice(0, -1)}!`,
      /perhaps because it was cut off\. Upload a file.*\n- Run: curl -T FILE 'http/,
    ],
    ["a data URL that is not base64", "data:text/csv,a%2Cb", /it is not a data: URL in base64/],
    ["a data URL without content", "data:", /it is not a data: URL in base64/],
    [
      "a large data URL",
      `data:text/csv;base64,${btoa("1,2\n".repeat(25_000))}`,
      /a data: URL has at most 96 KB, .*\. Upload a file.*\n- Run: curl/,
    ],
    [
      "a very large one",
      `data:text/csv;base64,${"A".repeat(200_000)}`,
      /at most 96 KB, .*\. Upload a file.*\n- Run: curl/,
    ],
    ["an empty data URL", "data:text/csv;base64,", /^The file of "report" was refused: it is empty\. Upload a file/],
    [
      "an unknown id",
      "file_AAAAAAAAAAAAAAAAAAAAAA",
      /^There is no such file yet\. If the user is still uploading it, call again with the same id\..*\n- Run: curl/,
    ],
    ["a wrong id", "file_zzz", /^There is no such file\. This is not a complete id\..*\n- Run: curl/],
    ["the content itself", "a,b\n1,2", /not a path or content\. .* at most 96 KB can be a data: URL/],
    ["a path", "../../etc/passwd", /^There is no such file\. .*takes the id .*\n- Run: curl -T FILE 'http/],
    ["a URL", "https://example.com/a.csv", /^There is no such file\. The server does not fetch URLs\..*\n- Run: curl/],
    ["a very long text", "x".repeat(20_000), /it is not a string of at most 10000 characters/],
    ["a number", 5, /arguments\.report: it is not a string|report: it is not a string/],
    [
      "an empty string, which counts as missing",
      "",
      /^The argument "report" is missing\. Upload a file \(CSV, at most 1 MB\)/,
    ],
    ["null, which counts as missing", null, /The argument "report" is missing/],
  ])("that is %s", async (_, report, expected) => {
    expect((await lab.call("lines", { report }, "arguing")).text).toMatch(expected);
  });

  test("can be optional", async () => {
    expect((await lab.call("perhaps", {})).text).toBe("false");
    expect((await lab.call("perhaps", { any: "data:text/csv;base64,YSxi" })).text).toBe("true");
  });

  test("does not hide the problems of the other arguments", async () => {
    expect((await lab.call("lines", { times: "many", report: "x" })).text).toMatch(/times/);
  });
});

test("a client cannot choose the host of its links", async () => {
  const meta = { "mcp-edge/files-base": "https://evil.example" };
  const { raw } = await readAnswer(new ModernClient(lab.worker.url("/mcp")).call("create_upload", {}, { meta }));
  expect(raw).toContain(`"url":"${lab.worker.origin}/files/`);
  expect(raw).not.toContain("evil");
});
