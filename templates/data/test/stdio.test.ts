/** Tests the server over standard input and output, with a SQLite file and CSV files in one folder. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stdio } from "mcp-edge/node";
import { afterAll, expect, test } from "vitest";
import { call, open, SALES } from "./helpers.ts";

const folder = mkdtempSync(join(tmpdir(), "data-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "Sales 2026.csv"), SALES);

const start = () => open(stdio({ command: process.execPath, args: ["src/stdio.ts"], env: { DATA_FOLDER: folder } }));

test("analyzes only files in its folder", async () => {
  const client = await start();
  const operations = ["sum"];
  expect(await call(client, "analyze_csv", { filepath: "Sales 2026.csv", operations })).toMatchObject({
    rows: 4,
    columns: { amount: { sum: 60.5 } },
  });
  expect(await call(client, "analyze_csv", { filepath: "../other.csv", operations })).toContain("was refused");
  expect(await call(client, "analyze_csv", { filepath: "none.csv", operations })).toContain(
    "There is no file none.csv",
  );
  await client.close();
});

test("runs only the allowed commands, on files in its folder", async () => {
  const client = await start();
  const run = (command: string, ...args: string[]) => call(client, "execute_command", { command, args });
  expect(await run("wc", "-l", "Sales 2026.csv")).toMatchObject({
    exitCode: 0,
    output: expect.stringMatching(/^\s*5 Sales 2026\.csv\s*$/),
  });
  expect(await run("head", "-n1", "Sales 2026.csv")).toMatchObject({ output: expect.stringContaining("region") });
  expect(await run("wc", "none.csv")).toMatchObject({ exitCode: 1 });
  for (const args of [["../other.csv"], ["/etc/passwd"], ["-o", "x"], ["--files0-from=x"], ["Sales 2026.csv", "-l"]]) {
    expect(await run("wc", ...args)).toContain("is not allowed");
  }
  expect(await run("sort", "-oSales 2026.csv", "Sales 2026.csv")).toContain("is not allowed");
  expect(await run("rm", "Sales 2026.csv")).toContain("command");
  await client.close();
});

test("a table that was imported from a file is kept after the process ends", async () => {
  const first = await start();
  await call(first, "import_csv", { table: "sales", filepath: "Sales 2026.csv" });
  const [link] = (await call(first, "export_csv", { table: "sales" })) as { uri: string }[];
  expect(readFileSync(fileURLToPath(link?.uri ?? ""), "utf8")).toMatch(/^region,product,amount\r\nNorth,/);
  await first.close();
  const second = await start();
  expect(await call(second, "query", { sql: "SELECT COUNT(*) AS n FROM sales" })).toMatchObject({ rows: [{ n: 4 }] });
  expect(await call(second, "read_rows", { table: "sales" })).toMatchObject({
    rows: [{ _row: 1, region: "North" }, {}, {}, {}],
  });
  await second.close();
});
