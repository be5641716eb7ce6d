/** `mcp-edge migrate`, which reads projects of untrusted authors. */
import type { Mutant } from "../mutant.ts";

const TESTS = { tests: ["test/migrate/migrate.test.ts"] };

export const MUTANTS: readonly Mutant[] = [
  {
    id: "migrate-drops-authentication",
    reason: "Middleware that authenticates would be removed together with the route of the old endpoint.",
    file: "packages/migrate/src/routes.ts",
    find: 'return method !== "use" && call.getArguments().length === 2;',
    replace: 'return method !== "use";',
    ...TESTS,
    title: "may authenticate",
  },
  {
    id: "migrate-names-become-code",
    reason: "A line break in a name of the project would turn the rest of the name into code.",
    file: "packages/migrate/src/unit.ts",
    find: 'return text.split(LINE_END).join(" ");',
    replace: "return text;",
    ...TESTS,
    title: "line break in a name",
  },
  {
    id: "migrate-included-filters",
    reason: "A repository could name a program in a file that its configuration includes, and git would run it.",
    file: "packages/migrate/src/git.ts",
    find: '"--includes", ',
    replace: "",
    tests: ["test/migrate/project.test.ts"],
    title: "in an included file",
  },
];
