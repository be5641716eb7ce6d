/**
 * Finds existing secrets of the project that the tools of an API would read. The title of a description determines the names of these
 * secrets, and the description also determines the host to which they are sent.
 *
 * @module
 */
import { readdirSync } from "node:fs";
import type { Recorded } from "./record.ts";
import { otherSources, projectText } from "./sources.ts";

/** The API that reads the secrets. */
export interface Reader {
  /** The name of the folder of the API. */
  readonly name: string;
  readonly server: string;
  readonly record: Recorded | undefined;
}

/** A secret that the project has, and the file or environment that names it. */
export interface TakenSecret {
  readonly secret: string;
  readonly path: string;
}

/** Matches files of the project that name secrets and other bindings. The last one is written by `wrangler types`. */
const NAMING = /^(?:\.dev\.vars.*|\.env.*|wrangler.*\.(?:toml|jsonc?)|worker-configuration\.d\.ts)$/;

/** The place of a secret that is an environment variable of the user. */
const ENVIRONMENT = "the environment of this shell";

/** Returns the secrets that the project already has, or that its other code reads. */
export function takenSecrets(secrets: readonly string[], { name, server, record }: Reader): readonly TakenSecret[] {
  // The user is not asked again about secrets that were confirmed before.
  const isSameHost = record !== undefined && new URL(record.server).host === new URL(server).host;
  const own = isSameHost ? projectText(`src/${name}/api.ts`) : "";
  const left = secrets.filter((secret) => !hasWord(own, secret));
  if (left.length === 0) return [];
  const naming = readdirSync(".", { withFileTypes: true })
    .filter((each) => NAMING.test(each.name) && !each.isDirectory())
    .map(({ name: path }) => ({ path, text: projectText(path) }));
  const files = [...naming, ...otherSources(name)];
  return left.flatMap((secret) => {
    // A server over stdio reads environment variables.
    const isSet = process.env[secret] !== undefined;
    const path = isSet ? ENVIRONMENT : files.find(({ text }) => hasWord(text, secret))?.path;
    return path === undefined ? [] : [{ secret, path }];
  });
}

/** Whether a text contains a whole word. */
export function hasWord(text: string, word: string): boolean {
  return new RegExp(`\\b${word}\\b`).test(text);
}

/** Names the existing secrets, and the host to which they would be sent. @param isConfirmed Whether the user has chosen the folder. */
export function describeTaken(
  taken: readonly TakenSecret[],
  { name, server, record }: Reader,
  isConfirmed: boolean,
): string {
  const names = taken.map(({ secret }) => secret).join(", ");
  const [is, it] = taken.length === 1 ? ["is", "it"] : ["are", "them"];
  const paths = [...new Set(taken.map(({ path }) => path))].join(", ");
  const { host } = new URL(server);
  if (isConfirmed) return `${names} ${is} already in ${paths}. The tools send ${it} to ${host}.`;
  if (record !== undefined)
    return `The tools send ${names} to ${new URL(record.server).host}, and would send ${it} to ${host}. If that is right, confirm with --name ${name}.`;
  return `${names} ${is} already in ${paths}. The tools would send ${it} to ${host}. If ${taken.length === 1 ? "it is" : "they are"} for this API, confirm with --name ${name}; otherwise choose another name with --name.`;
}
