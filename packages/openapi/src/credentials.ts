/**
 * Writes how credentials are added to requests.
 *
 * @module
 */
import type { Description } from "./document.ts";
import type { Operation } from "./operations.ts";
import { isOauth, isSupported, isToken, schemeOf } from "./schemes.ts";
import { comment, memberName, quote, unique, wordsOf } from "./text.ts";
import { scalarText, type Tree, textOf, treeOf } from "./tree.ts";

/** Whose access is used: `service` for a key of the service, `user` for the token with which the user signed in. */
export type Access = "service" | "user";

/** The credentials of the chosen operations. */
export interface Credentials {
  /** The lines of code of the table. */
  readonly code: readonly string[];
  /** The credentials that most operations use. */
  readonly usual: readonly string[];
  /** The secrets that the operator has to set. */
  readonly secrets: readonly string[];
  /** The credentials of each operation, by its id. */
  readonly used: ReadonlyMap<string, readonly string[]>;
}

/** Chooses the credentials of the operations, and writes them. @param prefix The beginning of the names of secrets. */
export function writeCredentials(
  description: Description,
  operations: readonly Operation[],
  { prefix, access }: { readonly prefix: string; readonly access: Access },
): Credentials {
  const find = (name: string) => schemeOf(description, name);
  const used = new Map(operations.map((each) => [each.id, choose(each, find, access)]));
  const suffixes = suffixesOf(description);
  const counts = new Map<string, number>();
  for (const names of used.values()) counts.set(JSON.stringify(names), (counts.get(JSON.stringify(names)) ?? 0) + 1);
  const [most = "[]"] = [...counts].sort(([, one], [, other]) => other - one).map(([names]) => names);
  const taken = new Set<string>();
  const code = [...new Set([...used.values()].flat())].map((name) => {
    const scheme = find(name);
    const secret = unique(`${prefix}_${suffixes.get(name) ?? suffixOf(scheme)}`, taken);
    const line = lineOf(scheme, secret, access);
    if (line.includes(secret)) taken.add(secret);
    return `  // ${comment(name)}: ${comment(textOf(scheme.type) ?? "")}\n  ${memberName(name)}: ${line},`;
  });
  return { code, usual: JSON.parse(most) as string[], secrets: [...taken], used };
}

/** Chooses an alternative that fits the access. If none does, a call for a user may be sent without credentials. */
function choose({ credentials }: Operation, find: (name: string) => Tree, access: Access): readonly string[] {
  const possible = credentials.filter((names) => names.length > 0 && names.every((name) => isSupported(find(name))));
  const isWanted = (names: readonly string[]) =>
    access === "user" ? names.some((name) => isToken(find(name))) : !names.some((name) => isOauth(find(name)));
  const isOptional = access === "user" && credentials.some((names) => names.length === 0);
  return possible.find(isWanted) ?? (isOptional ? [] : possible[0]) ?? [];
}

/** Whether an operation can be called only with a secret of the server: it accepts neither the token of a user nor no credentials. */
export function needsSecret({ credentials }: Operation, description: Description): boolean {
  const isPossible = (names: readonly string[]) =>
    names.length === 0 || names.some((name) => isToken(schemeOf(description, name)));
  return credentials.length > 0 && !credentials.some(isPossible);
}

/** The maximum length of the part of a secret's name that comes from its scheme, in characters. */
const SCHEME_CHARS_MAX = 40;

/**
 * Returns the suffixes of the names of secrets, by scheme. If several schemes are of one kind, each suffix contains the name of its
 * scheme. Numbers would change when an operation is added, so that one secret would be sent in place of another.
 */
function suffixesOf(description: Description): Map<string, string> {
  const names = Object.keys(treeOf(treeOf(description.root.components).securitySchemes));
  const suffixes = names.map((name) => suffixOf(schemeOf(description, name)));
  const entries = names.map((name, at): [string, string] => {
    const suffix = suffixes[at] ?? "";
    const own = wordsOf(name).join("_").slice(0, SCHEME_CHARS_MAX).replace(/_$/, "").toUpperCase();
    const isOnly = suffixes.filter((each) => each === suffix).length === 1;
    return [name, isOnly || own === "" ? suffix : own.endsWith(suffix) ? own : `${own}_${suffix}`];
  });
  return new Map(entries);
}

function suffixOf({ type, scheme }: Tree): string {
  if (type === "apiKey") return "API_KEY";
  return type === "http" && /^basic$/i.test(scalarText(scheme)) ? "USER_AND_PASSWORD" : "TOKEN";
}

function lineOf(scheme: Tree, secret: string, access: Access): string {
  const read = `secret(caller, ${quote(secret)})`;
  const name = textOf(scheme.name) ?? "";
  if (scheme.type === "apiKey") {
    if (scheme.in === "query") return `(caller, { url }) => url.searchParams.set(${quote(name)}, ${read})`;
    if (scheme.in === "cookie") {
      return `(caller, { headers }) => addCookie(headers, ${quote(name)}, ${read})`;
    }
    return `(caller, { headers }) => headers.set(${quote(name)}, ${read})`;
  }
  if (scheme.type === "http" && /^basic$/i.test(scalarText(scheme.scheme)))
    return `(caller, { headers }) => headers.set("Authorization", \`Basic \${btoa(${read})}\`)`;
  if (access === "user")
    return `async (caller, { headers }) => headers.set("Authorization", \`Bearer \${await userToken(caller)}\`)`;
  return `(caller, { headers }) => headers.set("Authorization", \`Bearer \${${read}}\`)`;
}

/** Returns the prefix of the names of secrets, such as `GIT_HUB`. */
export function prefixOf(name: string): string {
  const words = wordsOf(name).join("_").toUpperCase();
  return /^[A-Z]/.test(words) ? words : `API_${words}`;
}
