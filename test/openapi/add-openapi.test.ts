// @module-tag long
/** `mcp-edge add openapi` in a project: the code compiles, its tests pass, and running it again keeps what the author has changed. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { startWorker } from "../../src/testing/index.ts";
import { cli } from "../cli/run.ts";
import { copyTemplateTo, ROOT, runIn, writeTypes } from "../cli/template-copy.ts";
import { startHttpTap } from "../oracle/http-tap.ts";

const SHOP = join(import.meta.dirname, "fixtures/shop.yaml");
// Inside the package, so that the modules of the projects can import it by name.
const base = mkdtempSync(join(ROOT, "dist/openapi-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

let project: string;
let count = 0;
beforeEach(() => {
  project = join(base, String(count++));
  copyTemplateTo(project, "weather");
  rmSync(join(project, "test/weather.test.ts"));
});

const add = (...args: readonly string[]) => cli(["add", "openapi", ...args], { cwd: project });
const read = (path: string) => readFileSync(join(project, path), "utf8");
const write = (path: string, text: string) => writeFileSync(join(project, path), text);

/** Runs a tool of the root in the project. */
const run = (tool: string, ...args: readonly string[]) => runIn(project, tool, ...args);

test("adds tools that compile, pass their tests, and are listed with hints, names and bounded schemas", {
  timeout: 240_000,
}, async () => {
  const ran = await add(SHOP, "--all", "--yes");
  expect([ran.code, ran.stdout]).toEqual([0, ""]);
  expect(ran.stderr).toContain("npx wrangler secret put SHOP_API_KEY");
  expect(ran.stderr).toContain("not possible: POST /pictures: its body is multipart/form-data");
  expect(writeTypes(project).status).toBe(0);
  expect(run("tsc")).toEqual({ status: 0, output: "" });
  const tests = run("vitest", "run");
  expect([tests.status, tests.output]).toEqual([0, expect.stringContaining("9 passed")]);

  const sent: { url: string; key: string | null }[] = [];
  await using worker = await startWorker({
    root: project,
    wrangler: join(project, "wrangler.toml"),
    bindings: { SHOP_API_KEY: "the key" },
    outbound: ({ url, headers }) => {
      sent.push({ url, key: headers.get("X-Key") });
      const { searchParams } = new URL(url);
      const isFirst = searchParams.get("cursor") === null;
      return Response.json({ items: [{ name: isFirst ? "a" : "b" }], next_cursor: isFirst ? "2" : "" });
    },
  });
  const tap = await startHttpTap(worker.url("/mcp"));
  const client = await connect(tap.url, { name: "test", version: "1.0.0" });
  const tools = Object.fromEntries((await client.tools().all()).map((tool) => [tool.name, tool]));
  expect(Object.keys(tools)).toEqual(
    expect.arrayContaining(["list_items", "create_item", "get_item", "replace_item", "delete_item", "order_items"]),
  );
  expect(tools.get_item?.annotations).toEqual({ readOnlyHint: true, openWorldHint: true });
  expect(tools.replace_item?.annotations).toMatchObject({ destructiveHint: true, idempotentHint: true });
  expect(tools.delete_item?.annotations).toMatchObject({ destructiveHint: true, idempotentHint: true });
  expect(tools.create_item?.annotations).toMatchObject({ destructiveHint: false });

  const listed = await client.callTool("list_items", { tags: ["x", "y,z"], filter: { state: "a b" } });
  expect(listed.content).toMatchObject([{ text: '[{"name":"a"},{"name":"b"}]' }]);
  expect(sent.map(({ key }) => key)).toEqual(["the key", "the key"]);
  expect(sent.map(({ url }) => decodeURIComponent(new URL(url).search))).toEqual([
    "?tags=x,y,z&filter[state]=a+b",
    "?cursor=2&tags=x,y,z&filter[state]=a+b",
  ]);
  const climbing = await client.callTool("get_item", { id: "../orders" });
  expect(climbing.isError ?? false).toBe(false);
  expect(sent.at(-1)?.url).toBe("https://api.shop.example.com/v1/items/..%2Forders");
  const parent = await client.callTool("get_item", { id: ".." });
  expect(parent).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("cannot be a part of a path") }],
  });
  const keyless = await client.callTool("order_items", { item: "a" });
  expect(keyless).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("secret SHOP_TOKEN") }] });
  await client.close();
  await tap.close();
  tap.oracle.expectClean();
});

test("running it again keeps the author's changes, updates the rest, and shows where both have changed", async () => {
  const changing = join(project, "shop.yaml");
  const shop = readFileSync(SHOP, "utf8");
  writeFileSync(changing, shop);
  expect((await add("shop.yaml", "--tag", "items", "--yes")).code).toBe(0);
  expect(existsSync(join(project, "src/shop/orders.ts"))).toBe(false);
  expect((await add("shop.yaml", "--yes")).stderr).toContain("Nothing has changed.");

  write(
    "src/shop/items.ts",
    read("src/shop/items.ts").replace("Adds an item to the shop", "Adds one item. Ask first."),
  );
  writeFileSync(changing, shop.replace("summary: Get an item", "summary: Get one item of the shop"));
  const updated = await add("shop.yaml", "--yes");
  expect([updated.code, updated.stderr]).toEqual([
    0,
    expect.stringContaining('+       title: "Get one item of the shop"'),
  ]);
  expect(read("src/shop/items.ts")).toContain("Adds one item. Ask first.");
  expect(read("src/shop/items.ts")).toContain("Get one item of the shop");

  const both = shop.replace("Adds an item to the shop", "Adds an item, and returns it");
  writeFileSync(changing, both.replace("    delete:\n", "    x-removed:\n"));
  const conflict = await add("shop.yaml", "--yes");
  expect(conflict.stderr).toContain("POST /items was changed by you and in the API. Yours is kept");
  expect(conflict.stderr).toContain("Adds an item, and returns it");
  expect(read("src/shop/items.ts")).toContain("Adds one item. Ask first.");
  expect(read("src/shop/items.ts")).not.toContain("delete_item");
  expect(read("src/weather.ts").match(/addShop\(server\)/g)).toHaveLength(1);
  // The difference is shown only once.
  expect((await add("shop.yaml", "--yes")).stderr).toContain("Nothing has changed.");
});

test("with the access of users, the tests have a user with a token, also when the server admits only callers with a token", async () => {
  const ran = await add(SHOP, "--include", "order_items", "--access", "user", "--yes");
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("The Worker needs authorizationServer()")]);
  expect(ran.stderr).not.toContain("wrangler secret put");
  const auth = await cli(["add", "auth", "--issuer", "https://login.example.com", "--yes"], { cwd: project });
  expect([auth.code, auth.stderr]).toEqual([
    0,
    expect.stringContaining('testing-faults.md, "Testing protected servers"'),
  ]);
  const tests = run("vitest", "run");
  expect([tests.status, tests.output]).toEqual([0, expect.stringContaining("2 passed")]);
  write("src/sign-in.ts", "authorizationServer({});\n");
  const other = await add(SHOP, "--include", "order_items", "--access", "user", "--yes", "--name", "other");
  expect(other.stderr).not.toContain("authorizationServer()");
  expect(other.stderr).toContain("The token with which each user has signed in is sent to api.shop.example.com");
});
