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
  /** The same, by what only readers take them for that join the segments of a path. */
  readonly #joined = new Map<string, Scopes>();
  readonly #patterns: (readonly [UriPattern, Scopes])[] = [];

  /** @throws {KitError} `definition-invalid` for a URI template with a mistake. */
  constructor(given: Readonly<Record<string, Scopes>>) {
    const add = (map: Map<string, Scopes>, key: string, scopes: Scopes) =>
      map.set(key, [...(map.get(key) ?? []), ...scopes]);
    for (const [uri, scopes] of Object.entries(given)) {
      add(this.#own, uriKey(uri), scopes);
      if (uri.includes("{")) this.#patterns.push([new UriPattern(uri), scopes]);
      else {
        const plain = plainReadings(uri);
        for (const reading of plain) add(this.#alike, reading, scopes);
        for (const reading of joinedReadings(plain)) add(this.#joined, reading, scopes);
      }
    }
  }

  /** Returns the scopes of the entry for a template. */
  ofTemplate(text: string): Scopes {
    return this.#own.get(uriKey(text)) ?? [];
  }

  /** Returns the scopes that a URI needs, in any spelling. */
  of(uri: string): Scopes {
    const plain = plainReadings(uri);
    // An entry for exactly this URI decides alone, even if a reader could also resolve the URI to another entry.
    const isOwn = this.#own.has(uriKey(uri));
    const readings = isOwn ? plain : new Set([...plain, ...joinedReadings(plain)]);
    const found = [...readings].flatMap((reading) => [
      // An entry of its own takes the place of the templates.
      ...(this.#own.get(reading) ??
        this.#patterns.flatMap(([pattern, scopes]) => (pattern.covers(reading) ? scopes : []))),
      ...(this.#alike.get(reading) ?? []),
      ...((!isOwn && this.#joined.get(reading)) || []),
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
function plainReadings(uri: string): ReadonlySet<string> {
  const parsed = (text: string) => (URL.canParse(text) ? [new URL(text).href] : []);
  const keys = [uri, ...parsed(uri)].map((text) => {
    return uriKey(text.toWellFormed().replace(NO_URI_CHARACTERS, (found) => encodeURIComponent(found)));
  });
  const decoded = keys.map((key) => key.replace(/%(?:2F|3F|23)/g, decodeURIComponent));
  const whole = [...keys, ...decoded].flatMap((key) => [key, key.replace(/#.*/s, "")]);
  return new Set(whole.flatMap((key) => [key, ...parsed(key).map(uriKey)]));
}

/**
 * Returns the keys of the URIs that a reader takes a URI for that joins the segments of a variable, as `joinPath` does: it
 * leaves out empty segments and ".", and perhaps ".." with the segment before. Which of the first slashes belong to the
 * variable depends on the template, so each number of them is a reading.
 */
function joinedReadings(plain: ReadonlySet<string>): ReadonlySet<string> {
  const joined = [...plain].flatMap((key) => {
    const [, scheme = "", slashes = "", path = "", rest = ""] =
      /^([a-z][a-z\d+.-]*:)?(\/*)([^?#]*)(.*)$/s.exec(key) ?? [];
    const segments: string[] = [];
    for (const segment of path.split("/")) {
      if (segment === "..") segments.pop();
      else if (segment !== "" && segment !== ".") segments.push(segment);
    }
    const starts = ["", "/", "//", "///"].slice(0, slashes.length + 1);
    return starts.map((start) => scheme + start + segments.join("/") + rest);
  });
  return new Set(joined);
}
