/**
 * The forms of code and configuration that several parts change.
 *
 * @module
 */
import { partFile } from "./files.ts";
import { type Addition, type Project, readManifest } from "./project.ts";

/** The folder of the guides in a project. */
export const GUIDES = "node_modules/mcp-edge/docs/guides";
/** Matches the plugins that authenticate callers. */
export const AUTHENTICATES = /\b(authenticate|bearer|cloudflareAccess|authorizationServer)\(/;
/** Matches the script that `npm init` writes if a project has no tests. */
const NO_TEST = /no test specified/;

/**
 * Adds a plugin to the call of edge(). Returns undefined if the call has a form that is not known.
 *
 * @param server The name of the variable that the call passes. Any, if a file has only one call.
 */
export function withPlugin(text: string, plugin: string, server = "\\w+"): string | undefined {
  // edge(server, { ..., use: [durable()] }), edge(server, { ... }) or edge(server)
  const call = `\\bedge\\(\\s*${server}`;
  // The options end before a parenthesis is closed, so that a later call is not changed.
  const withUse = text.replace(new RegExp(`(${call},\\s*\\{[^[\\]()]*\\buse:\\s*\\[\\s*)`), `$1${plugin}, `);
  const withOptions = text.replace(new RegExp(`(${call},\\s*\\{)(?![^}]*\\buse\\b)`), `$1 use: [${plugin}],`);
  const bare = text.replace(new RegExp(`(${call})\\s*\\)`), `$1, { use: [${plugin}] })`);
  return [withUse, withOptions, bare].find((changed) => changed !== text);
}

/** Makes a project able to run tests, and says how. */
export function withTests(project: Project): Addition {
  const { manifest, sources } = project;
  const whole = readManifest(project);
  const { test = "no test specified" } = whole.scripts ?? {};
  const lacksTest = NO_TEST.test(test);
  const scripts = { ...whole.scripts, test: lacksTest ? "vitest run" : test };
  const devDependencies = { vitest: "^5.1.1", ...whole.devDependencies };
  const after = `${JSON.stringify({ ...whole, scripts, devDependencies }, undefined, 2)}\n`;
  const needsInstall = whole.devDependencies?.vitest === undefined;
  const isProtected = sources.some(({ text }) => AUTHENTICATES.test(text));
  return {
    changes: [
      { path: "vitest.config.ts", before: "", after: partFile("vitest.config.ts") },
      { path: manifest.path, before: manifest.text, after: needsInstall || lacksTest ? after : manifest.text },
    ],
    next: [
      ...(isProtected ? [`Give the test a token, see ${GUIDES}/testing-faults.md, "Testing protected servers"`] : []),
      ...(needsInstall ? ["npm install"] : []),
      "npm test",
    ],
  };
}
