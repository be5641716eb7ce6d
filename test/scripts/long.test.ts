/** The command line of `npm run long`: what it lists, and what it says about a wrong one. */
import { expect, test } from "vitest";
import { runLong } from "../../scripts/long/program.ts";

async function long(...args: string[]): Promise<{ code: number; output: string }> {
  const written: string[] = [];
  const code = await runLong(args, (text) => written.push(text));
  return { code, output: written.join("") };
}

const NAMES = [
  "chaos",
  "chaos-deploys",
  "chaos-tasks",
  "fuzz",
  "replay",
  "refreshes",
  "tenants",
  "companies",
  "soak",
  "scale",
  "cost",
  "recorder-cost",
];

test.each([{ args: [] }, { args: ["--help"] }])(
  "npm run long $args lists each name on its own line",
  async ({ args }) => {
    const { code, output } = await long(...args);
    expect(code).toBe(0);
    const listed = [...output.matchAll(/^ {2}(\S+) \[options\] +[a-z].{20,}$/gm)].map(([, name]) => name);
    expect(listed).toEqual(NAMES);
  },
);

test.each(NAMES)("npm run long -- %s --help describes its options", async (name) => {
  const { code, output } = await long(name, "--help");
  expect(code).toBe(0);
  expect(output).toMatch(new RegExp(`^Usage: npm run long -- ${name} \\[options\\]\n\n[a-z].*\n\nOptions:\n  --[a-z]`));
});

test.each([
  { args: ["chaso"], says: "unknown command 'chaso'; did you mean chaos?" },
  { args: ["elsewhere"], says: `unknown command 'elsewhere'; see "npm run long -- --help".` },
  { args: ["chaos", "--sedes", "3"], says: "unknown option '--sedes'; did you mean --seeds?" },
  {
    args: ["chaos", "--seeds", "many"],
    says: `option '--seeds <count>' argument 'many' is invalid: write a number, such as 100; see "npm run long -- --help".`,
  },
  { args: ["soak", "--minutes"], says: /^long: option '--minutes <count>' argument missing; / },
  { args: ["soak", "30"], says: /^long: too many arguments for 'soak': expected 0 arguments but got 1; / },
  { args: ["replay", "--place", "rounds,elsewhere"], says: /: use rounds, connection, .*, with commas between; / },
])("npm run long -- $args prints one sentence and exits with 2", async ({ args, says }) => {
  const { code, output } = await long(...args);
  expect(code).toBe(2);
  expect(output).toMatch(/^long: [^\n]*\n$/);
  if (typeof says === "string") expect(output).toBe(`long: ${says}\n`);
  else expect(output).toMatch(says);
});
