/** The order of the documents: the sidebar of the site, and the sections of `llms.txt`. */

/** A page in the sidebar, with the path of its document in the repository, or a group of pages. */
export type Entry = string | { readonly title: string; readonly pages: readonly string[] };

export interface Section {
  readonly title: string;
  readonly entries: readonly Entry[];
  /** Whether the section is closed until a reader opens it or one of its pages. */
  readonly isCollapsed?: boolean;
}

const guides = (...names: readonly string[]): string[] => names.map((name) => `docs/guides/${name}.md`);
const group = (title: string, ...names: readonly string[]): Entry => ({ title, pages: guides(...names) });

/**
 * Returns the sections for the documents that exist. Folders whose documents are numbered or independent of each other are listed
 * completely; a guide must be listed here by name.
 *
 * @param files The paths of all documents.
 */
export function sectionsOf(files: readonly string[]): Section[] {
  const inFolder = (folder: string) => files.filter((file) => file.startsWith(`docs/${folder}/`)).sort();
  const sections: readonly Section[] = [
    { title: "Start", entries: ["docs/start.md", "docs/for-agents.md", "docs/facts.md"] },
    { title: "Tutorial", entries: inFolder("tutorial") },
    {
      title: "Guides",
      entries: [
        group(
          "Define a server",
          "resources",
          "questions",
          "tasks",
          "once",
          "notifications",
          "data",
          "files",
          "files-checks",
          "skills",
          "apps",
          "openapi",
          "read-only-servers",
        ),
        group("Serve it", "projects", "http", "stdio", "sessions", "page", "hooks", "plugins"),
        group("Test it", "testing", "testing-faults", "recorder", "lock", "command-line"),
        group("Sign users in", "authorization", "authorization-scopes", "authorization-tokens"),
        group(
          "Be the authorization server",
          "authorization-server",
          "authorization-server-tokens",
          "enterprise-sign-in",
          "enterprise-companies",
          "sign-in-pages",
        ),
        group("Write a client", "client", "client-recovery", "client-extensions", "client-servers", "client-tasks"),
        group("Sign a client in", "signing-in", "signing-in-clients"),
        { title: "Recipes", pages: inFolder("recipes") },
      ],
    },
    { title: "Concepts", entries: CONCEPTS },
    { title: "Hosts", entries: inFolder("hosts") },
    {
      title: "Operate",
      entries: [
        ...guides("deploys", "doctor", "telemetry", "operating", "rates-and-audit", "concurrency-and-memory"),
        "docs/cost.md",
        "docs/scale.md",
        "docs/compatibility.md",
      ],
    },
    { title: "Security", entries: [...guides("security", "safe-handlers", "safe-content"), "SECURITY.md"] },
    {
      title: "Reference",
      isCollapsed: true,
      entries: [
        "docs/reference/options.md",
        "docs/reference/limits.md",
        { title: "Exports", pages: inFolder("reference/api") },
        "docs/tier.md",
        { title: "Design", pages: ["docs/architecture.md", ...inFolder("decisions"), "CONTRIBUTING.md"] },
      ],
    },
    { title: "Migration", entries: [...MIGRATION, ...guides("moving-github-sign-in", "moving-own-login")] },
    { title: "Changelog", entries: ["CHANGELOG.md"] },
  ];
  const existing = new Set(files);
  return sections
    .map((section) => ({ ...section, entries: section.entries.flatMap((entry) => keep(entry, existing)) }))
    .filter(({ entries }) => entries.length > 0);
}

const CONCEPTS = ["primitives", "eras", "sessions", "replay", "transports", "cost"].map(
  (name) => `docs/concepts/${name}.md`,
);

/** The guides of the kits, in the order of the table in the first of them. */
const MIGRATION = ["README", "mcp-agent", "sdk-v1", "sdk-v2", "mcp-handler"].map((name) => `docs/migration/${name}.md`);

/** The pages of a section, including the pages of its groups. */
export function pagesIn({ entries }: Section): string[] {
  return entries.flatMap((entry) => (typeof entry === "string" ? entry : entry.pages));
}

/** Removes the pages that do not exist. */
function keep(entry: Entry, existing: ReadonlySet<string>): Entry[] {
  if (typeof entry === "string") return existing.has(entry) ? [entry] : [];
  const pages = entry.pages.filter((page) => existing.has(page));
  return pages.length > 0 ? [{ title: entry.title, pages }] : [];
}
