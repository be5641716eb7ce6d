// @module-tag long
/** What `mcp-edge add openapi` says when it runs again: what is new, what is removed, what is kept, and where the API is now. */
import { existsSync } from "node:fs";

import { describe, expect, test } from "vitest";
import { Screen } from "../cli/pty.ts";
import { CLI } from "../cli/run.ts";
import { NODE } from "../oracle/node.ts";
import { api, get } from "./generated.ts";
import { useProjects } from "./project.ts";

const { add, at, read, write } = useProjects();

const recorded = () =>
  JSON.parse(read("src/shop/generated.json")) as { tools: object; others: string[]; server: string };

const SERVERS = { servers: [{ url: "https://api.example.com/v1" }] };
const PATHS = {
  "/items": get(),
  "/items/{id}": get(),
  "/orders": get({ tags: ["orders"] }),
  "/me": get({ tags: ["me"] }),
};
const SHOP = api(PATHS, SERVERS);

describe("the choice", () => {
  test("of the last run is where --exclude alone begins, and --also adds to it", async () => {
    write("api.json", SHOP);
    await add("api.json", "--tag", "items", "--yes");
    await add("api.json", "--exclude", "get_item", "--yes");
    expect(Object.keys(recorded().tools)).toEqual(["GET /items"]);
    await add("api.json", "--also", "get_me", "--yes");
    expect(Object.keys(recorded().tools)).toEqual(["GET /items", "GET /me"]);
    expect((await add("api.json", "--list", "--exclude", "get_me")).stdout).toMatch(/^items: list_items [^\n]*\n$/);
  });

  test("without a last run begins with all operations for --exclude, and with none for --also", async () => {
    write("api.json", SHOP);
    expect((await add("api.json", "--list", "--exclude", "get_*")).stdout.trim().split("\n")).toHaveLength(2);
    expect((await add("api.json", "--list", "--also", "get_me")).stdout.trim().split("\n")).toHaveLength(1);
  });

  test("says before it writes which tools are not chosen any more, and removes them", async () => {
    write("api.json", SHOP);
    await add("api.json", "--tag", "items", "orders", "--yes");
    const printed = await add("api.json", "--include", "get_item", "--tag", "orders", "--print");
    expect(printed.stderr).toContain("1 tool that you do not choose any more, removed: list_items (GET /items)");
    expect(read("src/shop/items.ts")).toContain('"list_items"');
    await add("api.json", "--include", "get_item", "--tag", "orders", "--yes");
    expect(read("src/shop/items.ts")).not.toContain('"list_items"');
  });

  test("does not say of a tool that was changed and not chosen that the API has lost it", async () => {
    write("api.json", SHOP);
    await add("api.json", "--all", "--yes");
    write("src/shop/items.ts", read("src/shop/items.ts").replace("List items", "Mine"));
    const { stderr } = await add("api.json", "--include", "get_item", "--tag", "orders", "me", "--yes");
    expect(stderr).toContain("GET /items was not chosen. It is kept, because you have changed it.");
    expect(stderr).not.toContain("any more, removed");
    write("api.json", api({ ...PATHS, "/items": {} }, SERVERS));
    await add("api.json", "--all", "--yes");
    expect(read("src/shop/items.ts")).toContain("Mine");
  });

  test("of tags that do not exist is refused with those that do", async () => {
    write("api.json", SHOP);
    expect(await add("api.json", "--tag", "nope", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no tag "nope". Nothing was changed. Tags: items, orders, me'),
    });
  });
});

describe("operations that are new in the API", () => {
  test("are named once, and are not taken", async () => {
    write("api.json", SHOP);
    await add("api.json", "--tag", "items", "--yes");
    write("api.json", api({ ...PATHS, "/me/preferences": get({ tags: ["me"] }) }, SERVERS));
    const again = await add("api.json", "--yes");
    expect(again.stderr).toContain(
      "1 operation of the API is new and was not chosen: list_me_preferences (GET /me/preferences). To take it: --also list_me_preferences",
    );
    expect(read("src/shop/generated.json")).toContain('"GET /me/preferences"');
    expect((await add("api.json", "--yes")).stderr).not.toContain("is new");
    expect((await add("api.json", "--also", "list_me_preferences", "--yes")).code).toBe(0);
    expect(Object.keys(recorded().tools)).toEqual(["GET /items", "GET /items/{id}", "GET /me/preferences"]);
  });
});

describe("a server that the description names otherwise", () => {
  const MOVED = { ...SHOP, servers: [{ url: "https://api2.example.com/v3" }] };

  test("is named with how to use it, and is used only then", async () => {
    write("api.json", SHOP);
    await add("api.json", "--all", "--yes");
    write("api.json", MOVED);
    const text =
      "The description names https://api2.example.com/v3 now. Your tools still use https://api.example.com/v1. To change it: --name shop --server https://api2.example.com/v3";
    for (let times = 0; times < 2; times += 1) {
      const { stderr } = await add("api.json", "--yes");
      expect([stderr.includes(text), stderr.includes("Nothing has changed.")]).toEqual([true, true]);
    }
    const changed = await add("api.json", "--yes", "--name", "shop", "--server", "https://api2.example.com/v3");
    expect(changed.stderr).not.toContain("To change it");
    expect(read("src/shop/api.ts")).toContain('BASE_URL = "https://api2.example.com/v3"');
    expect((await add("api.json", "--yes")).stderr).not.toContain("The description names");
  });

  test("is not named again after the user has chosen another one", async () => {
    write("api.json", SHOP);
    await add("api.json", "--all", "--yes", "--server", "https://mine.example.com");
    expect((await add("api.json", "--yes")).stderr).not.toContain("The description names");
    expect(recorded().server).toBe("https://mine.example.com");
  });
});

describe("a title that has changed", () => {
  test("does not lead to a second folder for the same description", async () => {
    write("api.json", SHOP);
    await add("api.json", "--all", "--yes");
    write("api.json", { ...SHOP, info: { title: "Store", version: "1" } });
    expect(await add("api.json", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        "src/shop was made from api.json. To run it again, add --name shop. For a second folder, add --name store.",
      ),
    });
    expect(existsSync(at("src/store"))).toBe(false);
    expect((await add("api.json", "--yes", "--name", "shop")).code).toBe(0);
  });
});

describe("what is said", () => {
  const KEY = { components: { securitySchemes: { key: { type: "http", scheme: "basic" } } }, security: [{ key: [] }] };

  test("after a change has only the secrets that are new, and the tools that are there", async () => {
    write("api.json", SHOP);
    const first = await add("api.json", "--all", "--yes");
    expect(first.stderr).toContain("4 tools,");
    expect(first.stderr).toContain("list_items and get_item could be one tool");
    expect(first.stderr).toContain("Added. Next:");
    expect(first.stderr).toContain("SHOP_API_URL=http://127.0.0.1:8080 in .dev.vars");
    write("src/shop/me.ts", read("src/shop/me.ts").replace(/ {2}\/\/ #region[\s\S]*#endregion\n/, ""));
    write("api.json", { ...SHOP, ...KEY });
    const second = await add("api.json", "--yes");
    expect(second.stderr).toContain("3 tools,");
    expect(second.stderr).not.toContain("could be one tool");
    expect(second.stderr).toContain("Changed. Next:");
    expect(second.stderr).toContain(
      "npx wrangler secret put SHOP_USER_AND_PASSWORD   # the value is user:password, and is sent to api.example.com; and SHOP_USER_AND_PASSWORD=user:password in .dev.vars",
    );
    expect(second.stderr).not.toContain("Read and shorten");
    write("api.json", {
      ...api(
        { ...PATHS, "/me": get({ tags: ["me"], summary: "Changed" }), "/items": get({ summary: "New" }) },
        SERVERS,
      ),
      ...KEY,
    });
    const third = await add("api.json", "--yes");
    expect(third.stderr).toContain("Changed. Next:");
    expect(third.stderr).not.toContain("wrangler secret put");
  });

  test("of a tool whose name the project has already is which one, and what the new one is called", async () => {
    write("src/mine.ts", 'server.tool("list_items", {}, () => "mine");\n');
    write("api.json", SHOP);
    expect((await add("api.json", "--all", "--yes")).stderr).toContain(
      "list_items is already a tool of this project (src/mine.ts), so the new one is called shop_list_items",
    );
  });

  test("of more tools than hosts accept is which hosts", async () => {
    write("api.json", api(Object.fromEntries(Array.from({ length: 130 }, (_, n) => [`/a${n}`, get()])), SERVERS));
    const { stderr } = await add("api.json", "--all", "--print", "--force");
    expect(stderr).toMatch(/^VS Code.*: The server has 130 tools, and the host accepts 128/m);
    expect(stderr).toMatch(/^Windsurf: The server has 130 tools, and the host accepts 100/m);
  });
});

describe("a tool that the author has deleted", () => {
  test("returns with its test when its line is removed from the record", async () => {
    write("api.json", SHOP);
    await add("api.json", "--all", "--yes");
    write(
      "src/shop/items.ts",
      read("src/shop/items.ts").replace(/ {2}\/\/ #region GET \/items\n[\s\S]*?#endregion\n\n/, ""),
    );
    await add("api.json", "--yes");
    const has = (path: string) => read(path).includes('"list_items"');
    expect([has("src/shop/items.ts"), has("test/shop.test.ts")]).toEqual([false, false]);
    const record = JSON.parse(read("src/shop/generated.json"));
    delete record.files["src/shop/items.ts"].regions["GET /items"];
    write("src/shop/generated.json", record);
    await add("api.json", "--yes");
    expect([has("src/shop/items.ts"), has("test/shop.test.ts")]).toEqual([true, true]);
  });
});

describe("secrets that the project has already", () => {
  test("are refused before the user is asked which operations to take", async () => {
    const securitySchemes = { key: { type: "apiKey", in: "header", name: "X-Key" } };
    write("api.json", { ...SHOP, components: { securitySchemes }, security: [{ key: [] }] });
    write(".dev.vars", "SHOP_API_KEY=a\n");
    using refused = new Screen(["add", "openapi", "api.json"], {}, [NODE, CLI], at(""));
    expect(await refused.ended()).toBe(2);
    expect(refused.text.replace(/\s+/g, " ")).toContain("If it is for this API, confirm with --name shop");
    expect(refused.text).not.toContain("Which operations?");
    using asked = new Screen(["add", "openapi", "api.json", "--name", "shop"], {}, [NODE, CLI], at(""));
    await asked.shows("Which operations?");
  });
});

describe("a project that was formatted", () => {
  test("is not changed, and the tools are not added twice", async () => {
    write("api.json", SHOP);
    await add("api.json", "--all", "--yes");
    write("src/shop/generated.json", JSON.stringify(recorded(), undefined, "\t"));
    const line = 'import { addShop } from "./shop/index.ts";';
    expect(read("src/weather.ts")).toContain(line);
    write("src/weather.ts", read("src/weather.ts").replace(line, "import {\n\taddShop,\n} from './shop/index.ts'"));
    expect((await add("api.json", "--yes")).stderr).toContain("Nothing has changed.");
  });
});

describe("options that cannot be used", () => {
  test.each([
    [["api.json", "--tag", "--yes"], "--tag has no value: --yes is an option."],
    [
      ["--tag", "items", "api.json"],
      "api.json was read as a value of --tag. Write the description first: mcp-edge add openapi <file or URL> --tag",
    ],
    [["--include", "get_item"], "Name the description: mcp-edge add openapi <file or URL>"],
    [["api.json", "--server", "https://user:pw@a.example.com"], "--server must not contain a user name or a password."],
    [["api.json", "--server", "https://a.example.com/?key=x"], "--server must not contain a query or a fragment"],
    [
      ["api.json", "--server", "http://127.0.0.1:4100/v2"],
      "is not an https: URL. Name the base URL of the API: --server https://api.example.com/v1. To try the tools with an API on your machine, write its URL into .dev.vars",
    ],
    [["api.json", "--name", "123"], '"123" cannot be the name of the folder in src.'],
    [["api.json", "--name", ""], '"" cannot be the name of the folder in src.'],
    [["api.json", "--name", "../x"], '"../x" cannot be the name of the folder in src.'],
    [["api.json", "--name", "con"], '"con" cannot be the name of the folder in src.'],
  ])("%j: %s", async (args, message) => {
    write("api.json", SHOP);
    const { code, stderr } = await add(
      ...args,
      ...(args.includes("--yes") ? [] : ["--yes"]),
      ...(args[0] === "api.json" ? ["--all"] : []),
    );
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toContain("user:pw");
    expect(existsSync(at("src/shop"))).toBe(false);
  });
});
