/**
 * The scopes that URIs need. A request may spell a URI in many ways, and the reader that gets it may parse it, so a URI
 * needs the scopes of everything that a reader may take it for.
 *
 * @module
 */
import { uriKey } from "../../../core/protocol/uri.ts";
import { UriPattern } from "./uri-pattern.ts";

type Scopes = readonly string[];

/** The scopes of resources, by URI or URI template. */
export class UriScopes {
  /** The scopes of each entry, by the key of its URI or template. */
  readonly #own = new Map<string, Scopes>();
  /** The scopes of exact URIs, by everything that they may be taken for. */
  readonly #alike = new Map<string, Scopes>();
  readonly #patterns: (readonly [UriPattern, Scopes])[] = [];

  /** @throws {KitError} `definition-invalid` for a URI template with a mistake. */
  constructor(given: Readonly<Record<string, Scopes>>) {
    const add = (map: Map<string, Scopes>, key: string, scopes: Scopes) =>
      map.set(key, [...(map.get(key) ?? []), ...scopes]);
    for (const [uri, scopes] of Object.entries(given)) {
      add(this.#own, uriKey(uri), scopes);
      if (uri.includes("{")) this.#patterns.push([new UriPattern(uri), scopes]);
      else for (const reading of readingsOf(uri)) add(this.#alike, reading, scopes);
    }
  }

  /** Returns the scopes of the entry for a template. */
  ofTemplate(text: string): Scopes {
    return this.#own.get(uriKey(text)) ?? [];
  }

  /** Returns the scopes that a URI needs, in any spelling. */
  of(uri: string): Scopes {
    const found = [...readingsOf(uri)].flatMap((reading) => [
      // An entry of its own takes the place of the templates.
      ...(this.#own.get(reading) ??
        this.#patterns.flatMap(([pattern, scopes]) => (pattern.covers(reading) ? scopes : []))),
      ...(this.#alike.get(reading) ?? []),
    ]);
    return [...new Set(found)];
  }
}

/** Everything but the characters of URIs, and percent signs that begin no escape. */
const NO_URI_CHARACTERS = /%(?![\da-f]{2})|[^\w%:/?#[\]@!$&'()*+,;=.~-]/giu;

/**
 * Returns the keys of all URIs that a reader may take a URI for: one that decodes it as a whole, one that parses it with
 * `URL`, and one that ignores its fragment.
 */
function readingsOf(uri: string): ReadonlySet<string> {
  const parsed = (text: string) => (URL.canParse(text) ? [new URL(text).href] : []);
  const keys = [uri, ...parsed(uri)].map((text) => {
    return uriKey(text.toWellFormed().replace(NO_URI_CHARACTERS, (found) => encodeURIComponent(found)));
  });
  const decoded = keys.map((key) => key.replace(/%(?:2F|3F|23)/g, decodeURIComponent));
  const whole = [...keys, ...decoded].flatMap((key) => [key, key.replace(/#.*/s, "")]);
  return new Set(whole.flatMap((key) => [key, ...parsed(key).map(uriKey)]));
}
