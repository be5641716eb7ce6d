/**
 * The author's name, logo and colour, for everything that users see.
 *
 * @module
 */
import { quote } from "../core/basics/quote.ts";
import { KitError } from "../core/protocol/errors.ts";

/**
 * How your service presents itself to users. Define it once, and pass it to `page()` and `authorizationServer()`:
 *
 * ```ts
 * const brand = { name: "Notes", logo: "/logo.svg", accent: "#0f766e" };
 * export default edge(server, { use: [page(brand)] }); // and authorizationServer({ ...brand, identity, allow })
 * ```
 */
export interface Brand {
  /** The name of your service, as it is shown to users. */
  readonly name?: string;
  /** Your logo: an `https:` URL, a path of this host that begins with "/", or a `data:image/` URL. @default none */
  readonly logo?: string;
  /**
   * Your colour for buttons and links, as `#rrggbb`. The pages darken it in light mode and lighten it in dark mode until it is
   * readable. @default blue
   */
  readonly accent?: string;
}

/** @throws {KitError} `options-invalid` naming the option. @param where The prefix of the error message, such as `page(): `. */
export function checkBrand(where: string, { logo, accent }: Brand): void {
  const invalid = (option: string, value: unknown, what: string) =>
    new KitError("options-invalid", `${where}${option} is ${quote(String(value))}; ${what}.`);
  if (logo !== undefined && imageSource(logo) === undefined)
    throw invalid("logo", logo, "use an https URL, a path that begins with /, or a data:image/ URL");
  if (accent !== undefined && !/^#[\da-f]{6}$/i.test(accent))
    throw invalid("accent", accent, "write a colour as #rrggbb");
}

/** Returns whether a value is an `https:` URL or a path of this host. */
export function isLink(url: unknown): boolean {
  if (typeof url !== "string") return false;
  return /^\/(?![/\\])/.test(url) || (url.startsWith("https://") && URL.canParse(url));
}

/** Returns the source of an image for the Content-Security-Policy of a page. Undefined if the image must not be shown. */
export function imageSource(image: string): string | undefined {
  if (/^data:image\/(png|jpeg|gif|webp|avif|svg\+xml)[;,]/.test(image)) return "data:";
  if (!isLink(image)) return undefined;
  return image.startsWith("/") ? "'self'" : new URL(image).origin;
}

/** The backgrounds of the pages with the lowest contrast, light and dark, as luminance + 0.05. */
const BACKGROUNDS = [0.96, 0.062] as const;

/** Returns the style that applies the author's colour. */
export function accentStyle(accent: string): string {
  return `:root{--accent:light-dark(${BACKGROUNDS.map((background) => readable(accent, background))})}`;
}

/** Mixes a colour with black or white until its contrast ratio is at least 4.5. */
function readable(accent: string, background: number): string {
  const goal = background > 0.5 ? 0 : 255;
  const channels = [1, 3, 5].map((at) => Number.parseInt(accent.slice(at, at + 2), 16));
  for (let share = 0; ; share += 0.02) {
    const mixed = channels.map((channel) => Math.round(channel + (goal - channel) * share));
    const ratio = (luminance(mixed) + 0.05) / background;
    if (Math.max(ratio, 1 / ratio) >= 4.6 || share > 1) return `rgb(${mixed.join(" ")})`;
  }
}

/** Returns the relative luminance of a colour. */
function luminance(channels: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = channels.map((channel) => (channel / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
