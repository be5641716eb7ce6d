/** Changes to the reading of skills. */
import type { Mutant } from "../mutant.ts";

const SKILLS = ["test/client/skills/skills.test.ts"];
const YAML = ["test/client/skills/yaml.test.ts"];

export const CLIENT_SKILLS: readonly Mutant[] = [
  {
    id: "client-skill-digest-ignored",
    file: "src/client/skills/skills.ts",
    find: "=== digest) return;",
    replace: '!== "") return;',
    tests: SKILLS,
    title: "another content: digest",
  },
  {
    id: "client-skill-size-ignored",
    file: "src/client/skills/skills.ts",
    find: "if (bytes.length !== size) {",
    replace: "if (bytes.length < 0) {",
    tests: SKILLS,
    title: "another content: size",
  },
  {
    id: "client-skill-frontmatter-ignored",
    file: "src/client/skills/skills.ts",
    find: "if (field === undefined) return",
    replace: "if (field !== null) return",
    tests: SKILLS,
    title: "frontmatter",
  },
  {
    id: "client-skill-unlisted-read",
    file: "src/client/skills/skills.ts",
    find: "  if (found) return found;",
    replace: "  return found as SkillResource;",
    tests: SKILLS,
    title: "not listed or is outside",
  },
  {
    id: "client-skill-other-entry-taken",
    file: "src/client/skills/skills.ts",
    find: "if (normalize(entry.uri) === normalize(uri)) return entry;",
    replace: "if (entry) return entry;",
    tests: SKILLS,
    title: "its entry is invalid",
  },
  {
    id: "client-skill-incomplete-entry-taken",
    file: "src/client/skills/entries.ts",
    find: "return seen.has(uri) ? undefined :",
    replace: "return seen.size >= 0 ? undefined :",
    tests: SKILLS,
    title: "its entry is invalid",
  },
  {
    id: "client-skill-above-its-folder",
    file: "src/client/skills/paths.ts",
    find: 'const isAbove = segment === ".." && segments.pop() === undefined;',
    replace: 'const isAbove = segment === ".." && segments.pop() === null;',
    tests: SKILLS,
    title: "dynamic files",
  },
  {
    id: "client-skill-encoded-dots",
    file: "src/client/skills/paths.ts",
    find: "if (isHidden || isAbove) throw",
    replace: "if (isAbove) throw",
    tests: SKILLS,
    title: "dynamic files",
  },
  {
    id: "client-skill-nested-values-equal",
    file: "src/client/skills/frontmatter.ts",
    find: "return one.length === other.length && one.every(",
    replace: "return one.length === other.length || one.every(",
    tests: SKILLS,
  },
  {
    id: "client-yaml-duplicate-key",
    file: "src/client/skills/yaml.ts",
    find: "if (map.has(found.key)) throw",
    replace: "if (map.size < 0) throw",
    tests: YAML,
    title: "a key that is there twice",
  },
  {
    id: "client-yaml-folded-as-literal",
    file: "src/client/skills/yaml.ts",
    find: '(style === "|" ? lines.join',
    replace: '(style !== "" ? lines.join',
    tests: YAML,
    title: "reads folded texts",
  },
  {
    id: "client-yaml-anchor-as-text",
    file: "src/client/skills/scalars.ts",
    find: "if (/^[&*!|>",
    replace: "if (/^[*!|>",
    tests: YAML,
    title: "an anchor",
  },
];
