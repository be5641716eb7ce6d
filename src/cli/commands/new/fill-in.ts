/**
 * The name of a project: which names are allowed, and where it replaces the name of the template in its files.
 *
 * @module
 */

/** The maximum number of characters of a Worker's name, which is part of a host name. */
const NAME_CHARACTERS_MAX = 63;

/** Returns what is wrong with the name of a project, or undefined. */
export function findNameProblem(name: string): string | undefined {
  if (/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name) && name.length <= NAME_CHARACTERS_MAX && name !== "node-modules") {
    return undefined;
  }
  const fixed = nameFrom(name);
  const hint = fixed === "" ? "" : ` Write for example: ${fixed}`;
  return `${JSON.stringify(name)} cannot be the name of a Worker: it has 1 to ${NAME_CHARACTERS_MAX} lowercase letters, digits and dashes, and begins and ends with a letter or digit.${hint}`;
}

/** Returns the allowed name that is most like a text; empty if nothing is left of it. */
export function nameFrom(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, NAME_CHARACTERS_MAX)
    .replace(/^-+|-+$/g, "");
}

/**
 * The places of a template's name in one kind of file. Each pattern's first group stays, the name after it is replaced.
 */
interface Places {
  readonly file: RegExp;
  readonly patterns: (name: string) => readonly RegExp[];
}

const PLACES: readonly Places[] = [
  {
    // The Worker, and what is created for it: databases, buckets, queues and Workflows. A project may have several such files.
    file: /^wrangler(\.[a-z]+)?\.(toml|jsonc?)$/,
    patterns: (name) => [
      new RegExp(`(^#? ?"?(?:name|database_name|bucket_name|queue|index_name)"?(?: =|:) ")${name}(?=["-])`, "gm"),
    ],
  },
  { file: /^(src|test)\/.*\.tsx?$/, patterns: (name) => [new RegExp(`(\\bname: ")${name}(?=")`, "g")] },
  {
    file: /^README\.md$/,
    patterns: (name) => [
      new RegExp(`(^# )${name}$`, "gm"),
      new RegExp(`(^ *")${name}(?=": \\{)`, "gm"),
      new RegExp(`(https://)${name}(?=\\.example\\.)`, "g"),
      new RegExp(`(/ABSOLUTE/PATH/TO/|/YOUR-NAME/|mcp-server-)${name}\\b`, "g"),
    ],
  },
];

/** The members that the package.json of a project gets. */
export interface ProjectManifest {
  readonly name: string;
  /** The version of mcp-edge, or `file:` and a path. */
  readonly packageSpec: string;
  /** Whether the project brings its own Node, because the installed one is too old for wrangler. */
  readonly addsNode: boolean;
}

/**
 * Returns the text of a template's file for a project.
 *
 * @param file The path below the template's folder, with `/`.
 * @param from The name of the template.
 */
export function fillIn(file: string, text: string, from: string, manifest: ProjectManifest): string {
  if (file === "package.json") return fillManifest(text, manifest);
  const { patterns } = PLACES.find((each) => each.file.test(file)) ?? {};
  return (patterns?.(from) ?? []).reduce(
    (before, pattern) => before.replace(pattern, (_, kept: string) => kept + manifest.name),
    text,
  );
}

function fillManifest(text: string, { name, packageSpec, addsNode }: ProjectManifest): string {
  const { description: _, ...template } = JSON.parse(text) as Record<string, unknown> & {
    dependencies?: Record<string, string>;
    devDependencies?: Record<string, string>;
  };
  const dependencies = { ...template.dependencies, "mcp-edge": packageSpec };
  const node = addsNode ? { node: "^24.21.0" } : {};
  const devDependencies = sorted({ ...template.devDependencies, ...node });
  return `${JSON.stringify({ ...template, name, dependencies, devDependencies }, undefined, 2)}\n`;
}

function sorted(record: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));
}
