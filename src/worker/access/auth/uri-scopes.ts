/**
 * The scopes that URIs need. A request can spell a URI in many ways, and the reader that receives it may parse it, so a URI
 * needs the scopes of everything that a reader could interpret it as.
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
  /** The scopes of exact URIs, by everything that a reader could interpret them as. */
  readonly #alike = new Map<string, Scopes>();
  /** The scopes of exact URIs, by what only a reader that joins the segments of a path could interpret them as. */
  readonly #joined = new Map<string, Scopes>();
  readonly #patterns: (readonly [UriPattern, Scopes])[] = [];

  /** @throws {KitError} `definition-invalid` if a URI template is invalid. */
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

  /** Returns the scopes that a URI needs, however it is spelled. */
  of(uri: string): Scopes {
    const plain = plainReadings(uri);
    // If there is an entry for exactly this URI, entries that a reader reaches only by joining its segments do not apply.
    const isOwn = this.#own.has(uriKey(uri));
    const readings = isOwn ? plain : new Set([...plain, ...joinedReadings(plain)]);
    const found = [...readings].flatMap((reading) => [
      // An exact entry takes precedence over the templates.
      ...(this.#own.get(reading) ??
        this.#patterns.flatMap(([pattern, scopes]) => (pattern.covers(reading) ? scopes : []))),
      ...(this.#alike.get(reading) ?? []),
      ...((!isOwn && this.#joined.get(reading)) || []),
    ]);
    return [...new Set(found)];
  }
}

/** All characters that are not allowed in URIs, and percent signs that do not begin an escape. */
const NO_URI_CHARACTERS = /%(?![\da-f]{2})|[^\w%:/?#[\]@!$&'()*+,;=.~-]/giu;

/**
 * Returns the keys of all URIs that a reader could interpret a URI as: a reader that decodes it as a whole, parses it with
 * `URL`, or ignores its fragment.
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
 * Returns the keys of the URIs that result if a reader joins the segments of a variable, as `joinPath` does: it leaves out
 * empty segments and ".", and may resolve ".." with the segment before it. How many of the leading slashes belong to the
 * variable depends on the template, so each number of slashes gives one interpretation.
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
