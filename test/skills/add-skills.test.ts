/** Skills that a Worker serves: the official scenarios, our client, a client without the extension, and refusals. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { isClean, runScenario } from "../../scripts/official-suite.ts";
import { type Client, connect, type Resource } from "../../src/client/index.ts";
import { Skills } from "../../src/client/skills/index.ts";
import { McpServer } from "../../src/core/index.ts";
import { readSkills } from "../../src/node/index.ts";
import { addSkills } from "../../src/skills/index.ts";
import { cli } from "../cli/run.ts";
import { ME } from "../client/places.ts";
import { Workerd } from "../harness/workerd.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { IMAGE, SKILLS, writeFolder } from "./folder.ts";

const REFUNDS = "skill://acme/refunds/SKILL.md";
const DISPUTES = "skill://acme/refunds/disputes/SKILL.md";
const GIT = "skill://git-workflow/SKILL.md";

const SRC = join(import.meta.dirname, "../../src");

/** A Worker that serves the module that `mcp-edge skills` has written. */
const entry = (module: string) => `
import { Hono } from "hono";
import { McpServer } from "${SRC}/core/index.ts";
import { addSkills } from "${SRC}/skills/index.ts";
import { edge } from "${SRC}/worker/index.ts";
import { skills } from ${JSON.stringify(module)};

const create = (more, options) => {
  const server = new McpServer({ name: "skills", version: "1.0.0", ...more });
  addSkills(server, skills, options);
  return edge(server);
};
const cacheHints = { "resources/list": { ttlMs: 60_000, cacheScope: "public" }, "resources/read": { ttlMs: 5_000, cacheScope: "public" } };
const visible = (skill, ctx) => skill.path !== "git-workflow" || ctx.client.info?.name === "colleague";
export default new Hono()
  .route("/all", create({ cacheHints, capabilities: { extensions: { "example.com/other": {} } } }))
  .route("/paged", create({ pageSize: 1 }))
  .route("/some", create({ cacheHints }, { visible }));
`;

let folder: string;
let worker: Workerd;
const open: { client: Client; tap: HttpTap }[] = [];
beforeAll(async () => {
  folder = writeFolder(SKILLS);
  const module = join(folder, "skills.ts");
  const written = await cli(["skills", folder, "--out", module]);
  expect(written).toMatchObject({ code: 0 });
  worker = await Workerd.start({ entry: { source: entry(module) } });
}, 60_000);
afterEach(async () => {
  for (const { client, tap } of open.splice(0)) {
    await client.close();
    await tap.close();
    // The extension is defined for 2026-07-28 and later: earlier versions have no member for its declaration.
    const problems = tap.oracle.problems.filter(({ problem }) => !problem.includes("/capabilities/extensions"));
    expect(problems).toEqual([]);
    expect(tap.oracle.messages).toBeGreaterThan(0);
  }
});
afterAll(async () => {
  await worker?.stop();
  if (folder) rmSync(folder, { recursive: true });
});

async function visit(place: string, options: object = {}): Promise<Client> {
  const tap = await startHttpTap(new URL(`/${place}/mcp`, worker.origin).href);
  const client = await connect(tap.url, { ...ME, ...options });
  open.push({ client, tap });
  return client;
}

const uris = (items: readonly { readonly uri: string }[]) => items.map(({ uri }) => uri);

describe("the official scenario", () => {
  test.each(["sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory"])(
    "%s passes without failures and warnings",
    { tags: "long", timeout: 60_000 },
    async (name) => {
      const url = `${worker.origin.replace("127.0.0.1", "localhost")}/all/mcp`;
      const checks = await runScenario(url, name);
      const failed = checks.filter(({ status }) => status !== "SUCCESS" && status !== "INFO");
      expect(failed).toEqual([]);
      expect(isClean({ name, isRequired: false, isOurs: true, checks })).toBe(true);
    },
  );
});

describe.each(["2026-07-28", "2025-11-25"])("skills in %s", (version) => {
  const protocolVersions = [version];

  test("are listed, and each file passes the checks of our client", async () => {
    const client = await visit("all", { protocolVersions });
    const skills = new Skills(client);
    const listed = await skills.list().all();
    expect(uris(listed)).toEqual([REFUNDS, DISPUTES, GIT]);
    for (const skill of listed) {
      const files = skill.resources === "dynamic" ? [] : skill.resources;
      for (const { uri } of files) expect((await skills.read(skill, uri)).isVerified).toBe(true);
    }
    const refunds = await skills.get(REFUNDS);
    expect((await skills.read(refunds, "templates/logo.png")).bytes).toEqual(IMAGE);
    expect((await skills.read(refunds, "templates/a b.md")).text).toBe("\ufeffDear customer,\r\n");
    expect((await skills.read(refunds)).body).toContain("Read references/LIMITS.md");
  });

  test("are also available as folders", async () => {
    const skills = new Skills(await visit("all", { protocolVersions }));
    const shown = (items: readonly Resource[]) => items.map(({ uri, name, mimeType }) => [uri, name, mimeType]);
    expect(shown(await skills.folder("skill://acme/refunds/templates").all())).toEqual([
      ["skill://acme/refunds/templates/a%20b.md", "a b.md", "text/markdown"],
      ["skill://acme/refunds/templates/logo.png", "logo.png", "image/png"],
    ]);
    expect(shown(await skills.folder("skill://acme").all())).toEqual([
      ["skill://acme/refunds", "refunds", "inode/directory"],
    ]);
    expect(uris(await skills.folder("skill://acme/refunds").all())).toEqual([
      "skill://acme/refunds/SKILL.md",
      "skill://acme/refunds/disputes",
      "skill://acme/refunds/references",
      "skill://acme/refunds/templates",
    ]);
  });

  test.each([
    ["skills/get", "skill://acme/refunds", "No skill is served at"],
    ["skills/get", "skill://acme/refunds/references/LIMITS.md", "No skill is served at"],
    ["skills/get", undefined, "No skill is served at"],
    ["resources/directory/read", REFUNDS, "is not a folder of a skill"],
    ["resources/directory/read", "skill://acme/refunds/", "without a trailing slash"],
    ["resources/directory/read", "skill://acme/ref", "is not a folder of a skill"],
    ["resources/directory/read", undefined, "is not a folder of a skill"],
  ])("are refused with -32602 by %s of %s if they do not exist", async (method, uri, message) => {
    const client = await visit("all", { protocolVersions });
    const refused = client.request(method, uri === undefined ? {} : { uri });
    await expect(refused).rejects.toMatchObject({ code: -32602, message: expect.stringContaining(message) });
  });

  test("are ordinary resources for clients without the extension", async () => {
    const client = await visit("all", { protocolVersions });
    const listed = await client.resources().all();
    expect(listed.map(({ uri, name, description }) => [uri, name, description])).toEqual([
      [REFUNDS, "refunds", "Processes customer refunds."],
      [DISPUTES, "disputes", "Handles disputes about refunds."],
      [GIT, "git-workflow", "How this team uses Git."],
    ]);
    const { contents } = await client.readResource("skill://acme/refunds/references/LIMITS.md");
    expect(contents).toMatchObject([{ mimeType: "text/markdown", text: "At most 500 euros.\n" }]);
    const code = version === "2026-07-28" ? -32602 : -32002;
    await expect(client.readResource("skill://acme/refunds/.secret")).rejects.toMatchObject({ code });
  });
});

test("lists and folders are paged", async () => {
  const skills = new Skills(await visit("paged"));
  expect(uris(await skills.list().all())).toEqual([REFUNDS, DISPUTES, GIT]);
  expect(await skills.folder("skill://acme/refunds").all()).toHaveLength(4);
});

test("a cursor of one folder is refused for another folder", async () => {
  const client = await visit("paged");
  const { nextCursor } = await client.request("resources/directory/read", { uri: "skill://acme/refunds" });
  expect(nextCursor).toEqual(expect.any(String));
  const other = { uri: "skill://acme/refunds/templates", cursor: nextCursor };
  await expect(client.request("resources/directory/read", other)).rejects.toMatchObject({ code: -32602 });
});

test("results carry the cache hints of the server, and its other extensions stay declared", async () => {
  const client = await visit("all");
  expect(client.server.capabilities.extensions).toEqual({
    "example.com/other": {},
    "io.modelcontextprotocol/skills": { directoryRead: true },
  });
  const listed = await client.request("skills/list", {});
  expect(listed).toMatchObject({ ttlMs: 60_000, cacheScope: "public", resultType: "complete" });
  expect(await client.request("skills/get", { uri: GIT })).toMatchObject({ ttlMs: 5_000, cacheScope: "public" });
});

describe("skills with the option visible", () => {
  const colleague = { name: "colleague", version: "1.0.0" };

  test("can be found and read only by callers that may see them", async () => {
    const client = await visit("some");
    const skills = new Skills(client);
    expect(uris(await skills.list().all())).toEqual([REFUNDS, DISPUTES]);
    await expect(skills.get(GIT)).rejects.toMatchObject({ code: -32602 });
    await expect(client.readResource(GIT)).rejects.toMatchObject({ code: -32602 });
    await expect(skills.folder("skill://git-workflow").all()).rejects.toMatchObject({ code: -32602 });
    expect(await client.resources().all()).toEqual([]);
  });

  test("are different for another caller, so that results must not be shared", async () => {
    const client = await visit("some", colleague);
    expect(uris(await new Skills(client).list().all())).toEqual([REFUNDS, DISPUTES, GIT]);
    const results = [
      await client.request("skills/list", {}),
      await client.request("skills/get", { uri: GIT }),
      await client.request("resources/read", { uri: GIT }),
    ];
    for (const result of results) expect(result.cacheScope).toBe("private");
  });
});

describe("addSkills()", () => {
  const skills = () => readSkills(folder);
  const server = () => new McpServer({ name: "skills", version: "1.0.0" });

  test("refuses two skills with one path", () => {
    const twice = [...skills(), ...skills()];
    expect(() => addSkills(server(), twice)).toThrow("There are two skills at skill://acme/refunds/SKILL.md.");
  });

  test("refuses skills that were already added, and unknown options", () => {
    const one = server();
    addSkills(one, skills());
    expect(() => addSkills(one, skills())).toThrow('Method "skills/list" is already defined.');
    expect(() => addSkills(server(), skills(), { hidden: true } as never)).toThrow(
      'addSkills() has no option "hidden"',
    );
  });
});
