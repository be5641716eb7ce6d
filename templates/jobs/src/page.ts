/** Reads one page of a site: its status, its title and its links. */
import { cleanText, createSafeFetch, RefusedError } from "mcp-edge/safe";

export interface Page {
  readonly url: string;
  /** The HTTP status; undefined if there was no response. */
  readonly status?: number;
  readonly title?: string;
  /** A human-readable description of what is wrong with the page. */
  readonly problem?: string;
  /** The links to other pages of the same site. */
  readonly links: readonly string[];
}

const PAGE_BYTES_MAX = 2_000_000;
const PAGE_MS = 15_000;
const LINKS_MAX = 200;
const TITLE_CHARACTERS_MAX = 200;

/** The address comes from a model, and the links from untrusted pages, so only public sites may be reached. */
const safeFetch = createSafeFetch({ responseBytesMax: PAGE_BYTES_MAX, timeoutMs: PAGE_MS });

/**
 * Reads a page. A missing or refused page is a normal result with a problem.
 *
 * @throws {Error} if a retry may help: the server is overloaded, or the connection failed.
 */
export async function readPage(url: string, signal: AbortSignal): Promise<Page> {
  try {
    const response = await safeFetch(url, { signal, headers: { Accept: "text/html" } });
    const { status } = response;
    if (status === 429 || status >= 500) {
      await response.body?.cancel();
      throw new Error(`the server returns HTTP status ${status}`);
    }
    const isHtml = response.headers.get("Content-Type")?.startsWith("text/html") ?? false;
    if (status >= 400 || !isHtml) await response.body?.cancel();
    if (status >= 400) return { url, status, problem: `the server returns HTTP status ${status}`, links: [] };
    return isHtml ? describe(url, response.url, status, await response.text()) : { url, status, links: [] };
  } catch (error) {
    if (error instanceof RefusedError) return { url, problem: error.message, links: [] };
    throw error;
  }
}

/** Extracts the title and links of a page. @param finalUrl The URL after redirects. */
function describe(url: string, finalUrl: string, status: number, html: string): Page {
  const [, found] = /<title\b[^<>]*>([^<]*)/i.exec(html) ?? [];
  // A model reads the title, so invisible characters are removed.
  const title = cleanText(decode(found ?? "").trim()).slice(0, TITLE_CHARACTERS_MAX);
  const site = new URL(url).origin;
  if (new URL(finalUrl).origin !== site) return { url, status, title, problem: "redirects to another site", links: [] };
  const links = findLinks(html, finalUrl).filter((link) => new URL(link).origin === site);
  const problem = title === "" ? { problem: "has no title" } : {};
  return { url, status, title, ...problem, links: [...new Set(links)].slice(0, LINKS_MAX) };
}

function findLinks(html: string, base: string): string[] {
  const anchors = html.matchAll(/<a\s[^<>]*?\bhref\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>]+))/gi);
  return [...anchors].flatMap(([, double, single, bare]) => {
    const target = decode(double ?? single ?? bare ?? "").trim();
    if (!URL.canParse(target, base)) return [];
    const url = new URL(target, base);
    url.hash = "";
    return [url.href];
  });
}

function decode(text: string): string {
  const characters: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => characters[name] ?? "");
}
