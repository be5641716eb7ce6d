/**
 * The name of a project: which names are valid, and where a name replaces the template's name in the files.
 *
 * @module
 */

/** The maximum number of characters of a Worker's name, which becomes part of a host name. */
const NAME_CHARACTERS_MAX = 63;

/** Returns what is wrong with the name of a project; undefined if it is valid. */
export function findNameProblem(name: string): string | undefined {
  if (/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name) && name.length <= NAME_CHARACTERS_MAX && name !== "node-modules") {
    return undefined;
  }
  const fixed = nameFrom(name);
  const hint = fixed === "" ? "" : ` For example: ${fixed}`;
  return `${JSON.stringify(name)} is not a valid name for a Worker. Use 1 to ${NAME_CHARACTERS_MAX} lowercase letters, digits and dashes, beginning and ending with a letter or digit.${hint}`;
}

/** Converts a string to a valid name; empty if no valid character is left. */
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
 * Where the template's name occurs in one kind of file. Each pattern matches a first group, which is kept, and the name after it,
 * which is replaced.
 */
interface Places {
  readonly file: RegExp;
  readonly patterns: (name: string) => readonly RegExp[];
}

const PLACES: readonly Places[] = [
  {
    // Names of the Worker and its resources: databases, buckets, queues and Workflows. A project may have several such files.
    file: /^wrangler(\.[a-z]+)?\.(toml|jsonc?)$/,
    patterns: (name) => [
      new RegExp(`(^#? ?"?(?:name|database_name|bucket_name|queue|index_name)"?(?: =|:) ")${name}(?=["-])`, "gm"),
    ],
  },
  { file: /^(src|test)\/.*\.tsx?$/, patterns: (name) => [new RegExp(`(\\bname: ")${name}(?=")`, "g")] },
  { file: /^AGENTS\.md$/, patterns: (name) => [new RegExp(`(^# )${name}$`, "m")] },
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

/** The values for the package.json of a project. */
export interface ProjectManifest {
  readonly name: string;
  /** The version of mcp-edge, or `file:` and a path. */
  readonly packageSpec: string;
  /** Whether to add Node as a dependency, because the installed version is too old for wrangler. */
  readonly addsNode: boolean;
}

/**
 * Fills the project's values into the text of a template's file.
 *
 * @param file The path relative to the template's folder, with `/`.
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
