/** `mcp-edge add openapi` in a project that has changed since: files, records, names and secrets that belong to the author. */
import { chmodSync, existsSync, rmSync } from "node:fs";

import { describe, expect, test } from "vitest";
import { cli } from "../cli/run.ts";
import { api, get } from "./generated.ts";
import { useProjects } from "./project.ts";

const { add, at, read, write } = useProjects();

const SERVERS = { servers: [{ url: "https://api.example.com/v1" }] };
const KEY = { components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } }, security: [{ key: [] }] };
const SHOP = api({ "/items": get(), "/orders": get({ tags: ["orders"] }) }, SERVERS);
const INDEX = 'import { addShop } from "./shop/index.ts";';

describe("files", () => {
  test("that are not generated for a while keep the author's changes, and are named", async () => {
    write("api.json", SHOP);
    await add("api.json", "--all", "--yes");
    write("src/shop/orders.ts", read("src/shop/orders.ts").replace("List orders", "Mine"));
    const fewer = await add("api.json", "--tag", "items", "--yes");
    expect(fewer.stderr).toContain("src/shop/orders.ts is no longer used");
    expect(read("src/shop/index.ts")).not.toContain("orders");
    expect((await add("api.json", "--all", "--yes")).code).toBe(0);
    expect(read("src/shop/orders.ts")).toContain("Mine");
    expect(read("src/shop/index.ts")).toContain("orders");
  });

  test("that are not generated any more and were removed are written again when they are needed", async () => {
    write("api.json", SHOP);
    await add("api.json", "--all", "--yes");
    await add("api.json", "--tag", "items", "--yes");
    rmSync(at("src/shop/orders.ts"));
    await add("api.json", "--all", "--yes");
    expect(existsSync(at("src/shop/orders.ts"))).toBe(true);
    expect(read("test/shop.test.ts")).toContain("list_orders");
  });

  test("of the author are not replaced by one of the same name that a tag chooses", async () => {
    write("api.json", SHOP);
    await add("api.json", "--tag", "items", "--yes");
    write("src/shop/orders.ts", "// mine\n");
    expect(await add("api.json", "--all", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("src/shop/orders.ts already exists. Nothing was changed."),
    });
    expect([read("src/shop/orders.ts"), read("src/shop/index.ts").includes("orders")]).toEqual(["// mine\n", false]);
  });

  test("with CRLF are kept with CRLF", async () => {
    write("api.json", SHOP);
    await add("api.json", "--all", "--yes");
    const paths = ["src/shop/items.ts", "src/shop/api.ts", "src/shop/index.ts", "test/shop.test.ts"];
    for (const path of [...paths, "src/shop/generated.json", "src/weather.ts"])
      write(path, read(path).replaceAll("\n", "\r\n"));
    expect((await add("api.json", "--yes")).stderr).toContain("Nothing has changed.");
    write("api.json", api({ "/items": get({ summary: "Changed" }), "/orders": get({ tags: ["orders"] }) }, SERVERS));
    await add("api.json", "--yes");
    expect(read("src/shop/items.ts")).toContain("Changed");
    for (const path of paths) expect(read(path).replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
  });

  test("are written all or not at all", async () => {
    write("api.json", SHOP);
    chmodSync(at("src/weather.ts"), 0o444);
    expect(await add("api.json", "--all", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("src/weather.ts is read-only. Nothing was changed."),
    });
    expect([existsSync(at("src/shop")), existsSync(at("test/shop.test.ts"))]).toEqual([false, false]);
  });

  test("are shown as a whole before they are written, with characters that cannot be seen", async () => {
    const end = "the end of a long line";
    write("api.json", api({ "/items": get({ description: `${"long ".repeat(150)}${end}` }) }, SERVERS));
    expect((await add("api.json", "--all", "--print")).stderr).toContain(`${end}",`);
    await add("api.json", "--all", "--yes");
    write("src/shop/items.ts", read("src/shop/items.ts").replace("long long", "my \u{e0100}\u202e"));
    write("api.json", api({ "/items": get({ description: `new ${"long ".repeat(150)}${end}` }) }, SERVERS));
    const { stderr } = await add("api.json", "--yes");
    expect(stderr).toContain("my \\u{e0100}\\u{202e}");
    expect(stderr).toMatch(/characters\) \.\.\..*the end of a long line",/);
  });
});

describe("the record", () => {
  test("keeps another description from taking the folder over", async () => {
    write("api.json", SHOP);
    write("other.json", { ...SHOP, servers: [{ url: "https://other.example.com" }] });
    await add("api.json", "--all", "--yes");
    const before = read("src/shop/items.ts");
    expect(await add("other.json", "--all", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("src/shop was made from api.json, and not from other.json."),
    });
    expect(read("src/shop/items.ts")).toBe(before);
    expect((await add("./api.json", "--all", "--yes")).code).toBe(0);
    expect((await add("other.json", "--all", "--yes", "--name", "shop")).code).toBe(0);
  });

  test.each([
    ["two tools of one name", { tools: { "GET /items": "a", "GET /orders": "a" } }],
    ["a file of another folder", { files: { "src/weather.ts": { around: "", regions: {} } } }],
    ["a server that is no URL", { server: "x" }],
    ["a region without a hash", { files: { "src/shop/items.ts": { around: "", regions: { a: 1 } } } }],
  ])("is refused with %s", async (_, change) => {
    write("api.json", SHOP);
    await add("api.json", "--all", "--yes");
    write("src/shop/generated.json", { ...JSON.parse(read("src/shop/generated.json")), ...change });
    expect(await add("api.json", "--all", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("src/shop/generated.json is not valid"),
    });
  });
});

describe("names", () => {
  test.each(["con", "NUL"])("of devices of Windows are not those of folders: %s", async (title) => {
    write("api.json", { ...SHOP, info: { title, version: "1" } });
    expect((await add("api.json", "--all", "--yes")).code).toBe(0);
    expect(existsSync(at(`src/${title.toLowerCase()}-api/index.ts`))).toBe(true);
  });

  test("of tools that the project has already begin with the name of the API, also when the command runs again", async () => {
    write("src/mine.ts", 'server.tool(\n  "list_items", {}, () => "mine");\n');
    write("api.json", SHOP);
    expect((await add("api.json", "--all", "--yes")).code).toBe(0);
    write("other.json", { ...SHOP, info: { title: "Other", version: "1" } });
    expect((await add("other.json", "--all", "--yes")).code).toBe(0);
    const namesOf = (folder: string) => Object.values(JSON.parse(read(`src/${folder}/generated.json`)).tools);
    expect([namesOf("shop"), namesOf("other")]).toEqual([
      ["shop_list_items", "list_orders"],
      ["other_list_items", "other_list_orders"],
    ]);
    for (const path of ["api.json", "other.json"])
      expect((await add(path, "--yes")).stderr).toContain("Nothing has changed.");
  });

  test("that the server has already are imported as another", async () => {
    write("api.json", SHOP);
    write("src/weather.ts", `${read("src/weather.ts")}\nfunction addShop(): void {}\naddShop();\n`);
    await add("api.json", "--all", "--yes");
    expect(read("src/weather.ts")).toContain('import { addShop as addShopOfApi } from "./shop/index.ts";');
    expect(read("src/weather.ts")).toContain("\naddShopOfApi(server);\n");
    expect((await add("api.json", "--yes")).stderr).toContain("Nothing has changed.");
  });

  test("in a comment of the server are not taken for a registration", async () => {
    write("api.json", SHOP);
    write("src/weather.ts", `${read("src/weather.ts")}\n// addShop(server);\n/* ${INDEX} addShop(server); */\n`);
    await add("api.json", "--all", "--yes");
    expect(read("src/weather.ts")).toMatch(/^addShop\(server\);$/m);
    expect(read("src/weather.ts").split("\n")).toContain(INDEX);
  });
});

describe("secrets", () => {
  const named = api({ "/items": get() }, { ...KEY, servers: [{ url: "https://evil.example.com" }] });

  test.each([
    [".dev.vars", "SHOP_TOKEN=abc\n"],
    [".dev.vars.staging", "SHOP_TOKEN=abc\n"],
    [".env.local", "SHOP_TOKEN=abc\n"],
    ["worker-configuration.d.ts", "interface Env { SHOP_TOKEN: string }\n"],
    ["src/other.mjs", "export const read = (env) => env.SHOP_TOKEN;\n"],
    ["src/other.ts", "export const read = (env: { SHOP_TOKEN: string }) => env.SHOP_TOKEN;\n"],
  ])("that %s has already are not sent to the host that a description names", async (path, text) => {
    write(path, text);
    write("api.json", named);
    expect(await add("api.json", "--all", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `SHOP_TOKEN is already in ${path}. The tools would send it to evil.example.com. If it is for this API, confirm with --name shop;`,
      ),
    });
    expect(existsSync(at("src/shop"))).toBe(false);
    expect((await add("api.json", "--all", "--yes", "--name", "mine")).stderr).toContain(
      "npx wrangler secret put MINE_TOKEN   # is sent to evil.example.com",
    );
  });

  test("of the user's environment, which a server over stdio reads, are not sent either", async () => {
    write("api.json", named);
    const ran = await cli(["add", "openapi", "api.json", "--all", "--yes"], { cwd: at(""), env: { SHOP_TOKEN: "x" } });
    expect([ran.code, ran.stderr]).toEqual([
      2,
      expect.stringContaining("SHOP_TOKEN is already in the environment of this shell"),
    ]);
    expect(existsSync(at("src/shop"))).toBe(false);
  });

  test("are accepted when the command runs again for the same host", async () => {
    write("api.json", named);
    await add("api.json", "--all", "--yes");
    write(".dev.vars", "SHOP_TOKEN=abc\n");
    expect((await add("api.json", "--yes")).stderr).toContain("Nothing has changed.");
    expect(await add("api.json", "--yes", "--server", "https://other.example.com")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        "The tools send SHOP_TOKEN to evil.example.com, and would send it to other.example.com. If that is right, confirm with --name shop.",
      ),
    });
    const confirmed = await add("api.json", "--yes", "--server", "https://other.example.com", "--name", "shop");
    expect([confirmed.code, confirmed.stderr]).toEqual([0, expect.not.stringContaining("--name")]);
    expect(confirmed.stderr).toContain("SHOP_TOKEN is already in .dev.vars. The tools send it to other.example.com.");
  });
});
