/**
 * The route of the page, in the fragment of its URL. So the back button works, and URLs can be shared.
 *
 * @module
 */
import { signal } from "@preact/signals";

/** The kinds of panels. */
export type Kind =
  | ""
  | "tool"
  | "prompt"
  | "resource"
  | "template"
  | "tasks"
  | "objects"
  | "settings"
  | "call"
  | "compare";

/** A route: the kind of the panel, and a name, URI or id. */
export interface Route {
  readonly kind: Kind;
  readonly key: string;
}

export const route = signal<Route>(parse(location.hash));

addEventListener("hashchange", () => {
  route.value = parse(location.hash);
});

function parse(hash: string): Route {
  const [kind = "", ...key] = hash.replace(/^#\/?/, "").split("/");
  return { kind: kind as Kind, key: key.map(decode).join("/") };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the link to a panel. */
export function linkTo(kind: Kind, key = ""): string {
  return `#/${kind}${key === "" ? "" : `/${encodeURIComponent(key)}`}`;
}

/** Opens a panel. */
export function goTo(kind: Kind, key = ""): void {
  location.hash = linkTo(kind, key);
}
