/** Reading skills from our server on workerd, in both eras. Every message is checked. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Client, connect } from "../../../src/client/index.ts";
import { type Skill, SkillError, Skills } from "../../../src/client/skills/index.ts";
import { Workerd } from "../../harness/workerd.ts";
import { type HttpTap, startHttpTap } from "../../oracle/http-tap.ts";
import { ME } from "../places.ts";
import { initialized, result, scripted } from "../scripted.ts";
import { FRONTMATTER, MANIFEST, OTHER, ROOT } from "./fixtures.ts";

let worker: Workerd;
const open: { client: Client; tap: HttpTap }[] = [];
beforeAll(async () => {
  worker = await Workerd.start({ entry: "test/client/skills/worker.ts" });
});
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
afterAll(() => worker?.stop());

interface Visit {
  readonly skills: Skills;
  readonly warnings: readonly string[];
  readonly skill: Skill;
}

/** The requests that reached the server, by their methods. */
const asked: string[] = [];

async function visit(flaw: string, version = "2026-07-28"): Promise<Visit> {
  const tap = await startHttpTap(new URL(`/${flaw}/mcp`, worker.origin).href);
  const record: typeof fetch = (url, init) => {
    const { method, params } = JSON.parse(String(init?.body ?? "{}"));
    asked.push([method, params?.uri].filter(Boolean).join(" "));
    return fetch(url, init);
  };
  const client = await connect(tap.url, { ...ME, protocolVersions: [version], fetch: record as never });
  open.push({ client, tap });
  const warnings: string[] = [];
  const skills = new Skills(client, { onWarning: (message) => warnings.push(message) });
  const [skill] = await skills.list().all();
  asked.splice(0);
  return { skills, warnings, skill: skill as Skill };
}

async function refusalOf(read: Promise<unknown>): Promise<SkillError> {
  const error = await read.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SkillError);
  return error as SkillError;
}

describe.each(["2026-07-28", "2025-11-25"])("skills in %s", (version) => {
  test("are listed page by page, without skills with invalid entries", async () => {
    const { skills, warnings } = await visit("none", version);
    expect((await skills.list().all()).map(({ uri }) => uri)).toEqual([MANIFEST, OTHER]);
    expect(warnings.slice(0, 2)).toEqual([
      'The skill "skill://acme/Bad/SKILL.md" is left out: its folder is not named "pdf-processing", the name in its frontmatter.',
      "The skill without a uri is left out: the entry is not an object.",
    ]);
    expect(asked).toEqual(["skills/list", "skills/list"]);
  });

  test("can be read by their URI, listed or not", async () => {
    const { skills } = await visit("none", version);
    expect(await skills.get(MANIFEST)).toMatchObject({ uri: MANIFEST, frontmatter: FRONTMATTER });
    await expect(skills.get("skill://nowhere/SKILL.md")).rejects.toMatchObject({ code: -32602 });
  });

  test("are read file by file, and each file is verified", async () => {
    const { skills, skill } = await visit("none", version);
    const manifest = await skills.read(skill);
    expect(manifest).toMatchObject({ uri: MANIFEST, isVerified: true, mimeType: "text/markdown" });
    expect(manifest.body).toBe("# PDF processing\n\nRead references/FORMS.md.\n");
    const forms = await skills.read(skill, "references/FORMS.md#fields");
    expect(forms).toMatchObject({ text: "Forms.", isVerified: true });
    expect(forms.body).toBeUndefined();
    expect(asked).toEqual([`resources/read ${MANIFEST}`, `resources/read ${ROOT}/references/FORMS.md`]);
  });

  test("can have binary files, however the files' names are encoded", async () => {
    const { skills, skill } = await visit("none", version);
    for (const name of ["a%20b.png", "a b.png", "./references/../a%20b.png", `${ROOT}/a%20b.png`]) {
      const { bytes, text } = await skills.read(skill, name);
      expect({ bytes: [...bytes], text }).toEqual({ bytes: [0, 255, 1, 254], text: undefined });
    }
  });
});

describe("a skill", () => {
  test.each([
    ["digest", "digest", "does not match the digest"],
    ["size", "size", "bytes, but its entry says"],
    ["frontmatter", "frontmatter", 'its field "metadata" differs'],
    ["no-frontmatter", "frontmatter", "does not begin with frontmatter"],
    ["bad-yaml", "frontmatter", "its frontmatter cannot be read: line 1: &x pdf-processing is not supported"],
  ])("is refused if its SKILL.md has another content: %s", async (flaw, reason, text) => {
    const { skills, skill } = await visit(flaw);
    expect(await refusalOf(skills.read(skill))).toMatchObject({
      reason,
      uri: MANIFEST,
      message: expect.stringContaining(text),
    });
  });

  test("is refused if a file is not listed or is outside the skill, before a request is sent", async () => {
    const { skills, skill } = await visit("none");
    const outside = ["../x/SKILL.md", "a/../../x", "%2e%2e/x", "a%2fb", "skill://other/x", "", "%zz"];
    for (const file of ["secret.md", ...outside]) {
      expect(await refusalOf(skills.read(skill, file)), file).toMatchObject({ reason: "unlisted" });
    }
    expect(asked).toEqual([]);
  });

  test("is refused if its entry is invalid, whether it was sent or changed by the caller", async () => {
    const { skills, skill } = await visit("none");
    const { resources } = skill as Skill & { resources: readonly object[] };
    const [own, ...others] = resources;
    const bad: readonly object[] = [
      { ...skill, frontmatter: { name: "pdf-processing" } },
      { ...skill, frontmatter: { ...FRONTMATTER, name: "Other" } },
      { ...skill, resources: "all" },
      { ...skill, resources: others },
      { ...skill, resources: [own, own] },
      { ...skill, resources: [own, { ...own, uri: "skill://other/x" }] },
      { ...skill, resources: [{ ...own, digest: "sha256:0" }] },
      { ...skill, resources: [{ ...own, size: -1 }] },
      { ...skill, uri: "SKILL.md" },
    ];
    for (const entry of bad) {
      expect(await refusalOf(skills.read(entry as Skill)), JSON.stringify(entry)).toMatchObject({ reason: "invalid" });
    }
    expect(asked).toEqual([]);
    expect(await refusalOf(skills.get(OTHER.replace("other", "third")))).toMatchObject({
      reason: "invalid",
      message: expect.stringContaining(`the server sent the entry of ${OTHER}`),
    });
    const { skills: empty } = await visit("empty");
    expect(await refusalOf(empty.get(MANIFEST))).toMatchObject({ reason: "invalid" });
  });
});

test("a skill with dynamic files is read without verification, but its frontmatter is compared", async () => {
  const { skills, skill } = await visit("dynamic");
  expect(await skills.read(skill)).toMatchObject({ isVerified: false, body: expect.stringContaining("# PDF") });
  expect(await skills.read(skill, "secret.md")).toMatchObject({ text: "Not part of the skill.", isVerified: false });
  for (const outside of ["../pdf-processing2/x", "%2e%2e/pdf-processing2/x", "..%2fx"]) {
    expect(await refusalOf(skills.read(skill, outside)), outside).toMatchObject({ reason: "unlisted" });
  }
  for (const field of [{ license: "MIT" }, { metadata: { version: "2.1", tags: ["pdf", "form"] } }]) {
    const changed = { ...skill, frontmatter: { ...skill.frontmatter, ...field } };
    expect(await refusalOf(skills.read(changed))).toMatchObject({ reason: "frontmatter" });
  }
});

test("a SKILL.md that is sent as bytes is read like one that is sent as text", async () => {
  const { skills, skill } = await visit("blob");
  expect(await skills.read(skill)).toMatchObject({ isVerified: true, body: expect.stringContaining("# PDF") });
});

test("another YAML parser can be used", async () => {
  const { skill } = await visit("bad-yaml");
  const { client } = open.at(-1) as { client: Client };
  const seen: string[] = [];
  const parseYaml = (yaml: string) => {
    seen.push(yaml);
    return { ...FRONTMATTER };
  };
  await expect(new Skills(client, { parseYaml }).read(skill)).resolves.toMatchObject({ isVerified: true });
  expect(seen[0]).toMatch(/^name: &x pdf-processing\n/);
});

test("folders are read if the server declares support, and otherwise refused without a request", async () => {
  const { skills } = await visit("none");
  expect((await skills.folder(ROOT).all()).map(({ uri }) => uri)).toEqual([`${ROOT}/references`, `${ROOT}/SKILL.md`]);
  const { skills: without } = await visit("no-folders");
  expect(() => without.folder(ROOT)).toThrow(expect.objectContaining({ code: "capability-missing" }));
  expect(asked).toEqual([]);
});

test("a server without skills gets no requests for skills", async () => {
  await using server = await scripted((request, response) => {
    const { method, id } = request.message ?? {};
    if (method === "initialize") return result(response, id, initialized("2025-11-25", { resources: {} }));
    return response.writeHead(method === "server/discover" ? 404 : 202).end();
  });
  const client = await connect(server.url, ME);
  const skills = new Skills(client);
  expect(skills.areSupported).toBe(false);
  const missing = expect.objectContaining({ code: "capability-missing" });
  await expect(skills.list().all()).rejects.toEqual(missing);
  await expect(skills.get(MANIFEST)).rejects.toEqual(missing);
  await client.close();
  expect(server.asked.filter((each) => each.includes("skills"))).toEqual([]);
});
