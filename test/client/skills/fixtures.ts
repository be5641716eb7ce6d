/** Servers of skills: a correct server, and a server with each flaw. */
import { McpError, McpServer } from "../../../src/core/index.ts";

const EXTENSION = "io.modelcontextprotocol/skills";

type Entry = Readonly<Record<string, unknown>>;

export const ROOT = "skill://acme/pdf-processing";
export const MANIFEST = `${ROOT}/SKILL.md`;
/** A skill of the same name in another folder. */
export const OTHER = "skill://other/pdf-processing/SKILL.md";

/** The frontmatter of the skill as an entry has it, and as its file has it. */
export const FRONTMATTER = {
  name: "pdf-processing",
  description: "Extract, fill, and assemble PDF documents",
  metadata: { version: "2.1", tags: ["pdf", "forms"] },
};
const TEXT = `---
name: pdf-processing
description: >-
  Extract, fill,
  and assemble PDF documents
metadata:
  version: "2.1"
  tags: [pdf, forms]
---
# PDF processing

Read references/FORMS.md.
`;
const IMAGE = Uint8Array.from([0, 255, 1, 254]);

async function digestOf(content: string | Uint8Array): Promise<{ digest: string; size: number }> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : Uint8Array.from(content);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return { digest: `sha256:${hex}`, size: bytes.length };
}

/** What differs from a good skill with listed files. */
export const FLAWS = [
  "none",
  "digest",
  "size",
  "frontmatter",
  "no-frontmatter",
  "bad-yaml",
  "blob",
  "dynamic",
  "empty",
] as const;
type Flaw = (typeof FLAWS)[number];

function manifestOf(flaw: Flaw): string {
  if (flaw === "digest") return TEXT.replace("Read", "Rxxd");
  if (flaw === "size") return `${TEXT}More.`;
  if (flaw === "frontmatter") return TEXT.replace('"2.1"', "2.1");
  if (flaw === "no-frontmatter") return "# PDF processing\n";
  return flaw === "bad-yaml" ? TEXT.replace("pdf-processing\n", "&x pdf-processing\n") : TEXT;
}

async function entryOf(flaw: Flaw): Promise<Entry> {
  // Where the frontmatter is wrong, the digest is right: each check has to work by itself.
  const described = flaw === "digest" || flaw === "size" ? TEXT : manifestOf(flaw);
  const resources = [
    { uri: MANIFEST, ...(await digestOf(described)) },
    { uri: `${ROOT}/references/FORMS.md`, ...(await digestOf("Forms.")) },
    { uri: `${ROOT}/a%20b.png`, ...(await digestOf(IMAGE)) },
    { uri: `${ROOT}/gone.md`, ...(await digestOf("Gone.")) },
  ];
  return { uri: MANIFEST, frontmatter: FRONTMATTER, resources: flaw === "dynamic" ? "dynamic" : resources };
}

/** @param settings What the server declares about skills. */
export function createServer(flaw: Flaw, settings: Entry): McpServer {
  const server = new McpServer({
    name: "skills-lab",
    version: "1.0.0",
    capabilities: { extensions: { [EXTENSION]: settings } },
  });
  const markdown = { mimeType: "text/markdown" };
  server.resource(MANIFEST, { name: "pdf-processing", ...markdown }, () =>
    flaw === "blob" ? new TextEncoder().encode(TEXT) : manifestOf(flaw),
  );
  server.resource(`${ROOT}/references/FORMS.md`, { name: "forms", ...markdown }, () => "Forms.");
  server.resource(`${ROOT}/a%20b.png`, { name: "image", mimeType: "image/png" }, () => IMAGE);
  server.resource(`${ROOT}/secret.md`, { name: "secret" }, () => "Not part of the skill.");
  const cache = { ttlMs: 0, cacheScope: "private" };
  const at = async (uri: string, kind: Flaw) => ({ ...(await entryOf(kind)), uri });
  server.method("skills/list", async ({ cursor }) => {
    if (cursor === "2") return { skills: [await at(OTHER, "dynamic")], ...cache };
    const skills = [await entryOf(flaw), await at("skill://acme/Bad/SKILL.md", "dynamic"), 7];
    return { skills, nextCursor: "2", ...cache };
  });
  server.method("skills/get", async ({ uri }) => {
    if (uri === "skill://nowhere/SKILL.md") throw new McpError(-32602, "There is no such skill.");
    // A server that returns another skill than the requested one.
    const skill = flaw === "empty" ? {} : uri === MANIFEST ? await entryOf(flaw) : await at(OTHER, "dynamic");
    return { skill, ...cache };
  });
  server.method("resources/directory/read", ({ uri, cursor }) => {
    if (cursor === "b") return { resources: [{ uri: `${uri}/SKILL.md`, name: "SKILL.md" }] };
    const folder = { uri: `${uri}/references`, name: "references", mimeType: "inode/directory" };
    return { resources: [folder], nextCursor: "b" };
  });
  return server;
}
