/** Tests the server on real workerd, with a real D1 database. */
import { inflateSync } from "node:zlib";
import { startWorker, type TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, LEGACY, MODERN, open, SALES } from "./helpers.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ wrangler: "wrangler.toml" });
});
afterAll(() => worker?.stop());

const connectWith = (version?: string, options = {}) => open(worker.url("/mcp"), version, options);

test("a large CSV is uploaded to a link, imported, and exported as a file", async () => {
  const client = await connectWith();
  const { file, url } = (await call(client, "create_upload", {})) as { file: string; url: string };
  const csv = `n,text\r\n${Array.from({ length: 20_000 }, (_, n) => `${n},"=${n}, ""x"""\r\n`).join("")}`;
  expect((await fetch(`${url}large.csv`, { method: "PUT", body: csv })).status).toBe(201);
  // Its rows are in the database when the import returns.
  expect(await call(client, "import_csv", { table: "uploaded", upload: file })).toMatchObject({ rows: 20_000 });
  const [link] = (await call(client, "export_csv", { table: "uploaded" })) as { uri: string; name: string }[];
  const exported = await (await fetch(link?.uri ?? "")).text();
  expect([link?.name, exported.split("\r\n").length]).toEqual(["uploaded.csv", 10_002]);
  expect(exported.split("\r\n")[1]).toBe(`0,"'=0, ""x"""`);
  await client.close();
});

describe("import_csv", () => {
  test("creates a table with typed columns, which queries can read", async () => {
    const client = await connectWith();
    const imported = await call(client, "import_csv", { table: "sales", csv: SALES });
    expect(imported).toEqual({ table: "sales", rows: 4, columns: ["region", "product", "amount"] });
    const sql = "SELECT region, SUM(amount) AS total FROM sales WHERE product <> ? GROUP BY region ORDER BY region";
    expect(await call(client, "query", { sql, parameters: ["Tea, black"] })).toEqual({
      rows: [
        { region: "North", total: 10 },
        { region: "South", total: 30 },
      ],
      isTruncated: false,
    });
    await client.close();
  });

  test.each([
    ["a;b\n1;2\n", { rows: [{ a: 1, b: 2 }] }],
    ['"a ""quoted""",b\r\n"two\nlines",2\r\n', { rows: [{ 'a "quoted"': "two\nlines", b: 2 }] }],
    ["a,b\n1\n", "Record 1 has 1 fields, but the header has 2."],
    ['a,b\n1,"2\n', "Line 2 has a quote in a field without quotes, or quotes that are not closed."],
    ["a,A\n1,2\n", "must contain a unique name for each column"],
    ["\n\n", "The CSV is empty"],
  ])("reads %j", async (csv, expected) => {
    const client = await connectWith();
    const imported = await call(client, "import_csv", { table: `t${crypto.randomUUID().replaceAll("-", "")}`, csv });
    if (typeof expected === "string") expect(imported).toContain(expected);
    else {
      const { table } = imported as { table: string };
      expect(await call(client, "query", { sql: `SELECT * FROM ${table}` })).toMatchObject(expected);
    }
    await client.close();
  });

  test.each([MODERN, LEGACY])(
    "asks before it replaces a table, even if the Worker crashes while the question is open (%s)",
    async (version) => {
      const table = `replaced_${version.replaceAll("-", "_")}`;
      const questions: string[] = [];
      let replace = false;
      const client = await connectWith(version, {
        onElicit: async ({ message }: { message: string }) => {
          questions.push(message);
          await worker.restart();
          return { action: "accept", content: { replace } };
        },
      });
      await call(client, "import_csv", { table, csv: "a\n1\n" });
      expect(await call(client, "import_csv", { table, csv: "b\n2\n" })).toBe("The user kept the existing table.");
      expect(await call(client, "query", { sql: `SELECT * FROM ${table}` })).toMatchObject({ rows: [{ a: 1 }] });
      replace = true;
      expect(await call(client, "import_csv", { table, csv: "b\n2\n" })).toMatchObject({ columns: ["b"] });
      expect(await call(client, "query", { sql: `SELECT * FROM ${table}` })).toMatchObject({ rows: [{ b: 2 }] });
      expect(questions).toEqual(Array(2).fill(`Replace the table "${table}" with its 1 rows?`));
      await client.close();
    },
  );

  test("leaves either the complete table or none if the Worker crashes during the import", async () => {
    const csv = `n,text\n${Array.from({ length: 20_000 }, (_, n) => `${n},${"x".repeat(50)}`).join("\n")}\n`;
    const client = await connectWith();
    const imported = call(client, "import_csv", { table: "large", csv }).catch(String);
    await worker.restart();
    await imported;
    const again = await connectWith();
    const found = await call(again, "query", { sql: "SELECT COUNT(*) AS n FROM large" });
    expect([{ rows: [{ n: 20_000 }], isTruncated: false }, expect.stringContaining("no such table")]).toContainEqual(
      found,
    );
    await client.close();
    await again.close();
  });
});

test("tables and sessions survive eviction and a crash", async () => {
  const events: string[] = [];
  const client = await connectWith(LEGACY, { onEvent: ({ type }: { type: string }) => events.push(type) });
  await call(client, "import_csv", { table: "kept", csv: "a\n1\n" });
  expect(await worker.evict("McpObject")).toBeGreaterThan(0);
  await worker.restart();
  expect(await call(client, "query", { sql: "SELECT a FROM kept" })).toMatchObject({ rows: [{ a: 1 }] });
  expect(events).not.toContain("session-reopened");
  await client.close();
});

test.each([
  "DELETE FROM sales",
  "SELECT 1; DROP TABLE sales",
  "WITH x AS (SELECT 1) INSERT INTO sales SELECT * FROM x",
  "SELECT * FROM pragma_database_list",
])("query refuses %s", async (sql) => {
  const client = await connectWith();
  expect(await call(client, "query", { sql })).toContain("The query was refused");
  await client.close();
});

test("query reports what is wrong with the SQL", async () => {
  const client = await connectWith();
  expect(await call(client, "query", { sql: "SELECT a FROM nowhere" })).toContain("no such table: nowhere");
  await client.close();
});

test("read_rows returns every row exactly once, page by page", async () => {
  const client = await connectWith();
  const csv = `n\n${Array.from({ length: 250 }, (_, n) => n).join("\n")}\n`;
  await call(client, "import_csv", { table: "numbers", csv });
  const seen: unknown[] = [];
  const sizes: number[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page = (await call(client, "read_rows", { table: "numbers", after })) as {
      rows: { n: number }[];
      next?: number;
    };
    seen.push(...page.rows.map(({ n }) => n));
    sizes.push(page.rows.length);
    after = page.next;
  }
  expect(sizes).toEqual([100, 100, 50]);
  expect(seen).toEqual(Array.from({ length: 250 }, (_, n) => n));
  expect(await call(client, "read_rows", { table: "none" })).toContain('There is no table "none". Existing tables: ');
  await client.close();
});

test("analyze_csv and calculate_stats agree", async () => {
  const client = await connectWith();
  await call(client, "import_csv", { table: "analyzed", csv: SALES });
  const operations = ["count", "missing", "distinct", "mean", "median"];
  expect(await call(client, "analyze_csv", { filepath: "analyzed", operations })).toEqual({
    rows: 4,
    columns: {
      region: { count: 4, missing: 0, distinct: 2 },
      product: { count: 4, missing: 0, distinct: 3 },
      amount: { count: 3, missing: 1, distinct: 3, mean: 60.5 / 3, median: 20 + 0.5 },
    },
  });
  expect(await call(client, "calculate_stats", { numbers: [4, 2, 9, 1] })).toMatchObject({
    mean: 4,
    median: 3,
    count: 4,
  });
  await client.close();
});

test.each(["bar", "line"])("chart draws a PNG (%s)", async (kind) => {
  const client = await connectWith();
  const sql = "SELECT column1, column2 FROM (VALUES ('down', -2), ('up', 4))";
  const [image, text] = (await call(client, "chart", { title: "Ups & downs", sql, kind })) as [
    { type: string; data: string; mimeType: string },
    object,
  ];
  expect(image).toMatchObject({ type: "image", mimeType: "image/png" });
  expect(text).toEqual({ type: "text", text: "down: -2\nup: 4" });
  const blue = [31, 119, 180].join();
  const { width, height, pixels } = decode(Buffer.from(image.data, "base64"));
  expect([width, height]).toEqual([640, 360]);
  // Above zero, only the right half has the color of the data; below zero, only the left half.
  const zero = 40 + (268 * 4) / 6;
  const colored = pixels.flatMap((line, y) => line.flatMap((color, x) => (color === blue ? [{ x, y }] : [])));
  if (kind === "bar") {
    expect(colored.filter(({ y }) => y < zero - 1).every(({ x }) => x > 348)).toBe(true);
    expect(colored.filter(({ y }) => y > zero + 1).every(({ x }) => x < 348)).toBe(true);
  }
  expect(Math.min(...colored.map(({ y }) => y))).toBeLessThan(42);
  expect(Math.max(...colored.map(({ y }) => y))).toBeGreaterThan(305);
  await client.close();
});

/** Decodes the PNGs that this server creates: three bytes for each pixel, without filters. */
function decode(png: Buffer) {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const lines = inflateSync(png.subarray(41, 41 + png.readUInt32BE(33)));
  const pixels = Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (_, x) =>
      lines
        .subarray(y * (width * 3 + 1) + 1 + x * 3)
        .subarray(0, 3)
        .join(),
    ),
  );
  return { width, height, pixels };
}

test("tables are resources with completion, and the prompt embeds a table", async () => {
  const client = await connectWith();
  await call(client, "import_csv", { table: "weather_2026", csv: "day,celsius\nMonday,12.5\n" });
  const uri = "data://tables/weather_2026";
  expect((await client.resources().all()).map((resource) => resource.uri)).toContain(uri);
  const { contents } = await client.readResource(uri);
  expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({
    columns: [
      { name: "day", type: "TEXT" },
      { name: "celsius", type: "REAL" },
    ],
    rows: 1,
    first: [{ day: "Monday", celsius: 12.5 }],
  });
  await expect(client.readResource("data://tables/unknown")).rejects.toThrow("Resource not found");
  const prompt = { type: "ref/prompt", name: "explore" } as const;
  const table = await client.complete({ type: "ref/resource", uri: "data://tables/{table}" }, "table", "weather_2");
  expect(table.values).toEqual(["weather_2026"]);
  const column = await client.complete(prompt, "column", "C", { context: { table: "weather_2026" } });
  expect(column.values).toEqual(["celsius"]);
  const { messages } = await client.getPrompt("explore", { table: "weather_2026" });
  expect(JSON.stringify(messages)).toMatch(/BEGIN DATA (\w{32}).*Monday.*END DATA \1/);
  await client.close();
});

test("the prompt compare contains the messages of explore for both tables", async () => {
  const client = await connectWith();
  await call(client, "import_csv", { table: "north", csv: "city\nOslo\n" });
  await call(client, "import_csv", { table: "south", csv: "city\nRome\n" });
  const prompt = { type: "ref/prompt", name: "compare" } as const;
  const second = await client.complete(prompt, "second", "", { context: { first: "north" } });
  expect(second.values).toContain("south");
  expect(second.values).not.toContain("north");
  const { messages } = await client.getPrompt("compare", { first: "north", second: "south" });
  const texts = messages.map(({ content }) => (content.type === "text" ? content.text : ""));
  expect(texts).toEqual([
    "Find out what is remarkable in the table north. Use analyze_csv, query and chart.",
    expect.stringContaining("Oslo"),
    "Find out what is remarkable in the table south. Use analyze_csv, query and chart.",
    expect.stringContaining("Rome"),
    expect.stringContaining("Then compare north with south"),
  ]);
  await client.close();
});

test("invisible characters in cells are removed, and a truncated result says so", async () => {
  const client = await connectWith();
  await call(client, "import_csv", { table: "hidden_text", csv: "note\nfine\u200b\u{e0041}\u202e\n" });
  expect(await call(client, "query", { sql: "SELECT note FROM hidden_text" })).toMatchObject({
    rows: [{ note: "fine" }],
  });
  await call(client, "import_csv", { table: "wide_cells", csv: `note\n${"x".repeat(250_000)}\n` });
  expect(await call(client, "query", { sql: "SELECT note FROM wide_cells" })).toMatch(/too large.*Ask for less/);
  await client.close();
});

test("the list of tables is divided into pages", async () => {
  const client = await connectWith();
  for (let n = 0; n < 51; n++) await call(client, "import_csv", { table: `page_${n}`, csv: "a\n1\n" });
  const page = await client.listResources();
  expect(page.resources).toHaveLength(50);
  expect(page.nextCursor).toBeDefined();
  const all = await client.resources().all();
  expect(new Set(all.map(({ uri }) => uri)).size).toBe(all.length);
  expect(all.length).toBeGreaterThan(50);
  await client.close();
});
