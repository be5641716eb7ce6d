// @module-tag long
/** Files of tools on stdio: paths in folders and in the roots of the client. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

let place: string;
let [read, root, secret, write] = ["", "", "", ""];

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), "mcp-edge-files-"));
  [read, root, secret, write] = ["read", "root", "secret", "write"].map((name) => join(place, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const folder of [read, root, secret, write, join(read, "sub")]) mkdirSync(folder);
  writeFileSync(join(read, "a.csv"), "a,b\n");
  writeFileSync(join(read, "sub", "c.csv"), "c\n");
  writeFileSync(join(read, "page.csv"), "<html>");
  writeFileSync(join(read, "big.csv"), "1,2\n".repeat(500));
  writeFileSync(join(read, "empty.csv"), "");
  writeFileSync(join(root, "r.csv"), "r\n");
  writeFileSync(join(secret, "s.csv"), "secret\n");
  symlinkSync(join(secret, "s.csv"), join(read, "link.csv"));
  symlinkSync(secret, join(read, "folder"));
  symlinkSync(read, join(place, "alias"));
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

const SERVER = join(import.meta.dirname, "fixtures", "stdio.ts");

interface Shown {
  readonly isError?: boolean;
  readonly content: readonly { readonly text?: string; readonly uri?: string }[];
}

/** Runs the server with a client of a version, which has opened some folders to it. */
async function withServer(
  {
    mode,
    roots,
    open = () => read,
    results = write,
  }: { mode: "legacy" | { pin: "2026-07-28" }; roots?: readonly string[]; open?: () => string; results?: string },
  use: (call: (name: string, args: Record<string, unknown>) => Promise<Shown>, client: Client2) => Promise<void>,
): Promise<void> {
  const capabilities = roots ? { roots: {} } : {};
  const client = new Client2({ name: "local", version: "1.0.0" }, { capabilities, versionNegotiation: { mode } });
  if (roots) client.setRequestHandler("roots/list", () => ({ roots: roots.map((uri) => ({ uri })) }));
  const args = [SERVER, open(), results];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }));
  try {
    await use(async (name, args) => (await client.callTool({ name, arguments: args })) as Shown, client);
  } finally {
    await client.close();
  }
}

test("a server without a place for its files says so when it starts", () => {
  const start = (place: string) =>
    spawnSync(process.execPath, [SERVER, read, write, "true", place], { input: "", encoding: "utf8" }).stderr;
  expect(start("none")).toMatch(
    /^mcp-edge: The files of this server have no place\. .*openFolders\(store, \{ read \}\)/,
  );
  expect(start("folders")).toBe("");
});

const MODES = [
  ["legacy", "legacy"],
  ["modern", { pin: "2026-07-28" }],
] as const;

describe.each(MODES)("a %s client", (era, mode) => {
  test("names files by path, in the folders of the server", async () => {
    await withServer({ mode }, async (call, client) => {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["read", "changed", "make"]);
      const paths = [
        join(read, "a.csv"),
        "a.csv",
        "./sub/../a.csv",
        pathToFileURL(join(read, "a.csv")).href,
        join(place, "alias", "a.csv"),
      ];
      const texts: unknown[] = [];
      for (const report of paths) texts.push((await call("read", { report })).content[0]?.text);
      const shown = "a.csv text/csv 4: a,b\n";
      // A relative path has no "..", and a link to the folder itself is not known to the server.
      const none = expect.stringMatching(/^There is no file/);
      expect(texts).toEqual([shown, shown, none, shown, none]);
      expect((await call("read", { report: join(read, "sub", "c.csv") })).content[0]?.text).toBe(
        "c.csv text/csv 2: c\n",
      );
    });
  });

  test("cannot read outside of them, nor anything that is not a file", async () => {
    await withServer({ mode }, async (call) => {
      const paths = [
        join(secret, "s.csv"),
        "../secret/s.csv",
        "sub/../../secret/s.csv",
        "%2e%2e/secret/s.csv",
        "link.csv",
        join(read, "link.csv"),
        "folder/s.csv",
        "sub",
        "a.csv/",
        "a.csv/.",
        join(read, "a.csv/"),
        `${join(read, "a.csv")}/.`,
        `${join(read, "a.csv", "b")}/..`,
        pathToFileURL(`${join(read, "a.csv")}/`).href,
        read,
        "/dev/zero",
        "file:///etc/passwd",
        "file://host/etc/passwd",
        "http://127.0.0.1/a.csv",
        "a.csv\0",
        "",
        "x".repeat(5_000),
      ];
      for (const report of paths) {
        const { isError, content } = await call("read", { report });
        expect([report, isError, content[0]?.text]).toEqual([
          report,
          true,
          expect.stringMatching(/^(There is no file|The argument "report" is missing)/),
        ]);
        expect(content[0]?.text).not.toMatch(/secret\n/);
      }
    });
  });

  test("is told why a file is not accepted", async () => {
    await withServer({ mode }, async (call) => {
      const text = async (report: string) => (await call("read", { report })).content[0]?.text;
      expect(await text("page.csv")).toMatch(/its content is HTML; accepted are CSV/);
      expect(await text("big.csv")).toMatch(/it has 2 KB, and at most 1 KB are accepted/);
      expect(await text("empty.csv")).toBe('The file of "report" was refused: it is empty.');
      expect(await text(`data:text/csv;base64,${btoa("d\n")}`)).toBe("report.csv text/csv 2: d\n");
      expect(await text("https://example.com/a.csv")).toBe(
        `There is no file "https://example.com/a.csv" that this server may read. The server does not fetch URLs. Pass the path of a file in: ${read}`,
      );
    });
  });

  test("cannot exchange a file after it was checked", async () => {
    await withServer({ mode }, async (call) => {
      for (const how of ["write", "replace"]) {
        writeFileSync(join(read, `${how}.csv`), "a,b,c\n");
        const { isError, content } = await call("changed", { report: `${how}.csv`, how });
        expect([isError, content[0]?.text]).toEqual([true, expect.stringMatching(/^The file has changed/)]);
      }
    });
  });

  test("whose roots cannot be read can still name files in the others", async () => {
    const long = pathToFileURL(join(root, "x".repeat(300))).href;
    const roots = ["file:///a%00b", long, pathToFileURL(join(root, "r.csv")).href, pathToFileURL(root).href];
    await withServer({ mode, roots, open: () => "" }, async (call) => {
      expect((await call("read", { report: join(root, "r.csv") })).content[0]?.text).toBe("r.csv text/csv 2: r\n");
      expect((await call("read", { report: "r.csv" })).content[0]?.text).toBe("r.csv text/csv 2: r\n");
    });
  });

  test("receives several files with the same long name", async () => {
    await withServer({ mode }, async (call) => {
      const uris = new Set<string>();
      for (const text of ["1", "2", "3"]) {
        const [block] = (await call("make", { name: `${"ä".repeat(300)}.csv`, type: "text/csv", text })).content;
        expect(readFileSync(fileURLToPath(block?.uri ?? ""), "utf8")).toBe(text);
        uris.add(block?.uri ?? "");
      }
      expect(uris.size).toBe(3);
    });
  });

  test.runIf(process.platform !== "win32")("is not kept waiting by a pipe", async () => {
    const pipe = join(read, `${era}-pipe.csv`);
    execFileSync("mkfifo", [pipe]);
    await withServer({ mode }, async (call) => {
      expect((await call("read", { report: pipe })).content[0]?.text).toMatch(/^There is no file/);
    });
  });

  test.runIf(process.getuid?.() === 0)("is not told that a device is missing", async () => {
    const device = join(read, `${era}-device.csv`);
    execFileSync("mknod", [device, "c", "10", "250"]);
    await withServer({ mode }, async (call) => {
      expect((await call("read", { report: device })).content[0]?.text).toMatch(/^There is no file/);
    });
  });

  test("is told that a server has no folder for results, and that a result is empty", async () => {
    const made = { name: "a.csv", type: "text/csv", text: "a" };
    await withServer({ mode, results: "" }, async (call) => {
      expect(await call("make", made)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^This server has no folder for results\. .*openFolders/) }],
      });
    });
    await withServer({ mode }, async (call) => {
      expect(await call("make", { ...made, text: "" })).toMatchObject({
        isError: true,
        content: [{ text: "The result is empty, so there is no file." }],
      });
      const [link] = (await call("make", { ...made, name: `${era}.exe` })).content;
      expect(link?.uri).toMatch(/\.exe\.csv$/);
    });
  });

  test("sees that an argument takes a path", async () => {
    await withServer({ mode }, async (_, client) => {
      const { tools } = await client.listTools();
      const read = tools.find(({ name }) => name === "read");
      expect(read?.inputSchema.properties?.report).toMatchObject({
        description:
          "A file (text/csv; at most 1 KB): the path of a file; or, for at most 96 KB, a data: URL in base64. If you cannot provide it, leave it out: the answer names the folders that are open.",
      });
    });
  });

  test("names files in its roots, which the server asks for", async () => {
    const roots = [pathToFileURL(root).href, "https://example.com/", "file://host/share"];
    await withServer({ mode, roots, open: () => "" }, async (call) => {
      expect((await call("read", { report: join(root, "r.csv") })).content[0]?.text).toBe("r.csv text/csv 2: r\n");
      expect((await call("read", { report: join(read, "a.csv") })).isError).toBe(true);
      expect((await call("read", {})).content[0]?.text).toBe(
        `The argument "report" is missing (CSV, at most 1 KB). Pass the path of a file in: ${root}`,
      );
    });
    await withServer({ mode, open: () => "" }, async (call) => {
      expect((await call("read", {})).content[0]?.text).toMatch(/No folder is open/);
    });
  });

  test("receives files as file: links, and none replaces another", async () => {
    await withServer({ mode }, async (call) => {
      const uris: string[] = [];
      for (const name of [`${era}.csv`, `../../${era}.csv`, `.${era}rc`]) {
        const [block] = (await call("make", { name, type: "text/csv", text: name })).content;
        uris.push(fileURLToPath(block?.uri ?? ""));
      }
      const names = uris.map((path) => path.slice(write.length + 1));
      expect(names.every((name) => !/[/\\]/.test(name) && existsSync(join(write, name)))).toBe(true);
      expect(new Set(names).size).toBe(3);
      expect(readFileSync(uris[0] ?? "", "utf8")).toBe(`${era}.csv`);
      const before = readdirSync(write);
      const refused = await call("make", { name: "a.png", type: "image/png", text: "<script>" });
      expect(refused.isError).toBe(true);
      expect((await call("make", { name: "a", type: "text", text: "a" })).isError).toBe(true);
      expect(readdirSync(write)).toEqual(before);
    });
  });
});
