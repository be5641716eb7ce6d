/**
 * What the page shows, as the part of its address after "#". The back button works, and an address can be shared.
 *
 * @module
 */
import { signal } from "@preact/signals";

/** The kinds of things that the page shows. */
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

/** What is shown: a kind, and its name, URI or id. */
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

/** Returns the address of something. */
export function linkTo(kind: Kind, key = ""): string {
  return `#/${kind}${key === "" ? "" : `/${encodeURIComponent(key)}`}`;
}

/** Shows something. */
export function goTo(kind: Kind, key = ""): void {
  location.hash = linkTo(kind, key);
}
