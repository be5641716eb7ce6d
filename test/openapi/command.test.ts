/** What `mcp-edge add openapi` reads, refuses and prints. */
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { KEYS, Screen } from "../cli/pty.ts";
import { CLI } from "../cli/run.ts";
import { NODE } from "../oracle/node.ts";
import { api, get } from "./generated.ts";
import { useProjects } from "./project.ts";

const { add, at, read, write } = useProjects();

const SERVERS = { servers: [{ url: "https://api.example.com/v1" }] };

/** The path to a schema in another file. */
const withRef = (ref: string) => {
  const content = { "application/json": { schema: { $ref: ref } } };
  return api({ "/a": { post: { requestBody: { required: true, content } } } }, SERVERS);
};

describe("the choice of operations", () => {
  const many = Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`/a${at}`, get({ tags: [`t${at % 3}`] })]));
  beforeEach(() => write("api.json", api({ ...many, "/users": get({ tags: ["users"] }) }, SERVERS)));

  test("needs an option without a terminal", async () => {
    const ran = await add("api.json", "--yes");
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining("Choose with --tag, --include or --all")]);
  });

  test("is listed with sizes, which are data for other programs", async () => {
    const { code, stdout, stderr } = await add("api.json", "--list");
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^121 operations, [\d,]+ bytes in the list of tools\n$/)]);
    expect(stdout.trim().split("\n")).toHaveLength(121);
    expect(stdout).toMatch(/^users: list_users \(GET \/users, \d+ bytes\)$/m);
  });

  test("is made by any tag of an operation, and its first one names its file", async () => {
    write("api.json", api({ "/a": get({ tags: ["one", "two"] }), "/b": get({ tags: ["three"] }) }, SERVERS));
    expect((await add("api.json", "--tag", "two", "--yes")).code).toBe(0);
    expect([existsSync(at("src/shop/one.ts")), existsSync(at("src/shop/two.ts"))]).toEqual([true, false]);
  });

  test("is listed as the options choose it", async () => {
    const listed = await add("api.json", "--list", "--tag", "users");
    expect(listed.stdout).toMatch(/^users: list_users [^\n]*\n$/);
    expect(listed.stderr).toMatch(/^1 operation, \d+ bytes/);
    expect((await add("api.json", "--list", "--include", "nothing")).stdout).toBe("");
  });

  test("refuses more tools than hosts accept, unless it is forced", async () => {
    expect(await add("api.json", "--all", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("121 tools are more than some hosts accept (Windsurf: 100)"),
    });
    expect((await add("api.json", "--all", "--print", "--force")).code).toBe(0);
    expect(existsSync(at("src/shop"))).toBe(false);
  });

  test("is asked for in a terminal: first tags, then operations, each with the size that it adds", async () => {
    using screen = new Screen(["add", "openapi", "api.json"], {}, [NODE, CLI], at(""));
    await screen.shows("Which parts of the API?");
    expect(screen.text).toMatch(/t0 \(40 operations, [\d,]+ bytes\)/);
    screen.press(KEYS.down, KEYS.down, KEYS.down);
    await screen.shows("users (1 operation");
    screen.press(KEYS.space);
    screen.press(KEYS.enter);
    await screen.shows("Which operations?");
    expect(screen.text).toMatch(/list_users \(GET \/users, \d+ bytes\)/);
    screen.press(KEYS.space);
    screen.press(KEYS.enter);
    await screen.shows("Make these changes?");
    screen.press("y");
    expect(await screen.ended()).toBe(0);
    expect(Object.keys(JSON.parse(read("src/shop/generated.json")).tools)).toEqual(["GET /users"]);
  });

  test("does not replace what the author changes while the question is shown", async () => {
    await add("api.json", "--tag", "users", "--yes");
    const path = at("src/shop/users.ts");
    write("api.json", api({ "/users": get({ tags: ["users"], summary: "Changed" }) }, SERVERS));
    using screen = new Screen(["add", "openapi", "api.json"], {}, [NODE, CLI], at(""));
    await screen.shows("Make these changes?");
    const mine = `${readFileSync(path, "utf8")}// mine\n`;
    writeFileSync(path, mine);
    screen.press("y");
    await screen.shows("src/shop/users.ts was changed in the meantime");
    expect([await screen.ended(), readFileSync(path, "utf8")]).toEqual([2, mine]);
  });

  test("is left with Ctrl-C, and then nothing is written", async () => {
    using screen = new Screen(["add", "openapi", "api.json"], {}, [NODE, CLI], at(""));
    await screen.shows("Which parts of the API?");
    screen.press(KEYS.ctrlC);
    expect(await screen.ended()).toBe(130);
    expect(existsSync(at("src/shop"))).toBe(false);
  });

  test.each([
    [["--tag", "users"], ["list_users"]],
    [
      [
        "--include",
        "GET /users",
        "get_a11*",
        "--exclude",
        "get_a11*1",
        "*_a110",
        "GET /a11[2-9]",
        "get_a112",
        "get_a113",
        "get_a114",
        "get_a115",
        "get_a116",
        "get_a117",
        "get_a118",
        "get_a119",
      ],
      ["get_a11", "list_users"],
    ],
    [["--include", "GET /A10*", "--exclude", "*0*"], []],
    [["--include", "*"], 121],
  ])("follows %j", async (options, expected) => {
    const { code, stderr } = await add("api.json", ...options, "--print", "--force");
    if (Array.isArray(expected) && expected.length === 0) return expect(code).toBe(2);
    const names = [...stderr.matchAll(/^\+ {5}"(\w+)",$/gm)].map(([, name]) => name);
    if (typeof expected === "number") expect(names).toHaveLength(expected);
    else expect(names.toSorted()).toEqual(expected);
  });
});

describe("references to files", () => {
  test("are refused unless they are asked for, and then read from the folder of the description", async () => {
    write("spec/api.json", withRef("schemas/pet.yaml#/Pet"));
    write("spec/schemas/pet.yaml", "Pet: { type: object, properties: { name: { $ref: 'name.yaml' } } }");
    write("spec/schemas/name.yaml", "{ type: string, maxLength: 7 }");
    expect(await add("spec/api.json", "--all", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("refers to other files: schemas/pet.yaml. Add --follow-refs"),
    });
    expect((await add("spec/api.json", "--all", "--yes", "--follow-refs")).code).toBe(0);
    expect(read("src/shop/a.ts")).toContain("name: z.string().max(7).optional()");
  });

  test("that are hidden, such as those with secrets, are not read", async () => {
    for (const path of [".env.yaml", ".secrets/a.yaml", "a/.b/c.yaml"]) {
      write(`spec/${path}`, "{ type: string }");
      write("spec/api.json", withRef(path));
      expect(await add("spec/api.json", "--list", "--follow-refs")).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`refers to the hidden file ${path}, which is not read`),
      });
    }
  });

  test("within the description are found whatever the name of the file is, unless it has a #", async () => {
    const description = { ...withRef("#/components/schemas/a"), components: { schemas: { a: { type: "object" } } } };
    for (const name of ["a b%20c.json", "ü?x.json", ".api.json"]) {
      write(name, description);
      expect((await add(name, "--list")).stdout).toContain("POST /a");
    }
    write("a#b.json", description);
    expect(await add("a#b.json", "--list")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("a#b.json has a # in its name. Rename it."),
    });
  });

  test.each([
    "../secret.yaml#/a",
    "/etc/passwd",
    "file:///etc/passwd",
    "https://example.com/a.yaml",
    "linked/secret.yaml",
    "%2e%2e/secret.yaml",
  ])("that lead out of the folder are refused: %s", async (ref) => {
    write("secret.yaml", "{ type: string }");
    write("spec/api.json", withRef(ref));
    symlinkSync(at(""), at("spec/linked"));
    const ran = await add("spec/api.json", "--all", "--yes", "--follow-refs");
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(/outside of its folder or on another host|does not exist/);
    expect(existsSync(at("src/shop"))).toBe(false);
  });
});

describe("a description at a URL", () => {
  let server: Server;
  let requested: string[];
  let respond: (path: string) => string | Buffer;
  beforeEach(async () => {
    requested = [];
    server = createServer(({ url = "" }, response) => {
      requested.push(url);
      response.end(respond(url));
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  });
  afterEach(() => server.close());
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  test("is read, with the files of its host", async () => {
    respond = (path) => (path === "/api.json" ? JSON.stringify(withRef("pet.yaml")) : "{ type: object }");
    expect((await add(`${origin()}/api.json`, "--all", "--print", "--follow-refs")).code).toBe(0);
    expect(requested).toEqual(["/api.json", "/pet.yaml"]);
  });

  test("is read as a whole, also if the URL names a place in it", async () => {
    const parameters = { p: { name: "q", in: "query", schema: { type: "string" } } };
    const paths = { "/a": get({ parameters: [{ $ref: "#/components/parameters/p" }] }) };
    respond = () => JSON.stringify(api(paths, { ...SERVERS, components: { parameters } }));
    expect((await add(`${origin()}/api.json#/paths`, "--list")).stdout).toContain("GET /a");
    expect(requested).toEqual(["/api.json"]);
  });

  test("cannot lead to another host", async () => {
    respond = () => JSON.stringify(withRef("http://localhost:1/metadata"));
    expect(await add(`${origin()}/api.json`, "--all", "--yes", "--follow-refs")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("on another host, and is not read"),
    });
  });

  test("is refused if it is too large", async () => {
    const half = Buffer.alloc(33_000_000, " ");
    respond = () => Buffer.concat([half, half]);
    expect(await add(`${origin()}/api.json`, "--all", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("more than 64000000 bytes"),
    });
  });

  test("has to use https, except on this machine", async () => {
    expect(await add("http://example.com/api.json", "--list")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("is not an https: URL, so others could change the description"),
    });
  });
});

test("the server of an API has to use https, and is named by the user if the description does not", async () => {
  write("api.json", api({ "/a": get() }, { servers: [{ url: "http://169.254.169.254/" }, { url: "file:///a" }] }));
  expect(await add("api.json", "--all", "--yes")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("names no server with an https: URL"),
  });
  expect(await add("api.json", "--all", "--yes", "--server", "http://localhost/")).toMatchObject({ code: 2 });
  expect(await add("api.json", "--all", "--yes", "--server", "https://u:p@a.example.com/")).toMatchObject({ code: 2 });
  expect((await add("api.json", "--all", "--yes", "--server", "https://a.example.com/v2/")).code).toBe(0);
  expect(read("src/shop/api.ts")).toContain('const BASE_URL = "https://a.example.com/v2";');
});

test("nothing in a description controls the terminal", async () => {
  const text = "\u001b]0;title\u0007\u001b[2J\u202e\u009b31m";
  const paths = { [`/a${text}`]: get(), "/b": get({ summary: text, tags: [text], operationId: `x${text}` }) };
  write("api.json", { ...api(paths, SERVERS), info: { title: `Shop${text}`, version: text } });
  const outputs = [await add("api.json", "--list"), await add("api.json", "--all", "--yes")];
  for (const { stdout, stderr } of outputs)
    expect([...stdout, ...stderr].filter((each) => text.includes(each) && /\p{C}/u.test(each))).toEqual([]);
  write("api.json", "\u001b[2J: [");
  expect((await add("api.json", "--list")).stderr).not.toContain("\u001b");
});

test("a project without a folder src is refused with what to do", async () => {
  write("api.json", api({ "/a": get() }, SERVERS));
  write("index.ts", read("src/index.ts"));
  const wrangler = read("wrangler.toml");
  write("wrangler.toml", wrangler.replace("src/index.ts", "index.ts"));
  rmSync(at("src"), { recursive: true });
  expect(await add("api.json", "--all", "--yes")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("This project has no folder src."),
  });
});

test("an operation with another server is taken when that server is named", async () => {
  const own = { servers: [{ url: "https://uploads.example.com" }] };
  write("api.json", api({ "/a": get(), "/b": get(own) }, SERVERS));
  const first = await add("api.json", "--all", "--print");
  expect(first.stderr).toContain(
    "not possible: GET /b: it is at https://uploads.example.com, which is not the base URL",
  );
  expect((await add("api.json", "--list", "--server", "https://uploads.example.com")).stdout).toContain("GET /b");
  const args = ["--include", "GET /b", "--server", "https://uploads.example.com", "--name", "uploads", "--yes"];
  expect((await add("api.json", ...args)).code).toBe(0);
  expect((await add("api.json", "--name", "uploads", "--yes")).stderr).toContain("Nothing has changed.");
});

test("operations that do not accept the access of users are refused by name, because all users would share a secret", async () => {
  const securitySchemes = { key: { type: "apiKey", in: "header", name: "X" }, user: { type: "oauth2", flows: {} } };
  const more = { ...SERVERS, components: { securitySchemes } };
  write("api.json", api({ "/a": get({ security: [{ key: [] }] }), "/b": get({ security: [{ user: [] }] }) }, more));
  const all = await add("api.json", "--all", "--yes", "--access", "user");
  expect([all.code, all.stderr]).toEqual([
    2,
    expect.stringContaining("get_a (GET /a) does not accept the token of a user"),
  ]);
  expect(existsSync(at("src/shop"))).toBe(false);
  const only = await add("api.json", "--include", "GET /b", "--print", "--access", "user", "--name", "only");
  expect(only.stderr).not.toContain("Everyone who may call");
  const users = await add("api.json", "--include", "GET /b", "--yes", "--access", "user", "--name", "only");
  expect(users.stderr).toContain("The token with which each user has signed in is sent to api.example.com");
});

test("files that exist and were not generated are not replaced, and a damaged record is refused", async () => {
  write("api.json", api({ "/a": get() }, SERVERS));
  write("src/shop/api.ts", "export {};");
  expect(await add("api.json", "--all", "--yes")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("src/shop/api.ts already exists. Nothing was changed."),
  });
  write("src/shop/generated.json", '{ "files": { "../../x.ts": {} } }');
  expect(await add("api.json", "--all", "--yes")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("src/shop/generated.json is not valid"),
  });
});
