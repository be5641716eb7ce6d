/**
 * The kinds of credentials of an API.
 *
 * @module
 */
import type { Description } from "./document.ts";
import { isTree, listOf, scalarText, type Tree, treeOf } from "./tree.ts";

/** Returns a security scheme; an empty object if the description has none of this name. */
export function schemeOf(description: Description, name: string): Tree {
  const schemes = treeOf(treeOf(description.root.components).securitySchemes);
  return Object.hasOwn(schemes, name) ? description.tree(schemes[name]) : {};
}

/** Whether the requests can have credentials of this kind. */
export function isSupported({ type, scheme, name }: Tree): boolean {
  if (type === "apiKey") return /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(scalarText(name));
  return isOauth({ type }) || (type === "http" && /^(basic|bearer)$/i.test(scalarText(scheme)));
}

/** Whether a user's access is given by signing in. */
export function isOauth({ type }: Tree): boolean {
  return type === "oauth2" || type === "openIdConnect";
}

/** Whether the credentials are a token, which can be that of a user. */
export function isToken({ type, scheme }: Tree): boolean {
  return isOauth({ type }) || (type === "http" && /^bearer$/i.test(scalarText(scheme)));
}

/** Reads the alternatives of an operation: the schemes of one are sent together. Returns a reason if none can be sent. */
export function readCredentials(description: Description, operation: Tree): string[][] | string {
  const all = listOf(operation.security ?? description.root.security)
    .filter(isTree)
    .map((each) => Object.keys(each));
  const unsupported = all.map((names) => names.find((name) => !isSupported(schemeOf(description, name))));
  const [first] = unsupported;
  if (first === undefined || unsupported.includes(undefined)) return all;
  const { type, scheme } = schemeOf(description, first);
  const kind = [scalarText(type), scalarText(scheme)].filter((each) => each !== "").join(" ");
  return kind === ""
    ? `it needs the credentials ${first.slice(0, 60)}, which the description does not define`
    : `it needs credentials of the kind ${kind.slice(0, 60)}, which are not supported`;
}
