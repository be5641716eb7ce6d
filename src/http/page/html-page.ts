/**
 * The page as HTML, and the page that a browser sees if the endpoint refuses it.
 *
 * @module
 */
import type { Registry } from "../../core/define/registry.ts";
import { type Brand, imageSource } from "../../look/brand.ts";
import { respond } from "../../look/document.ts";
import { type Html, html } from "../../look/html.ts";
import { type Address, commands, configuration, links, type Way } from "./connect.ts";
import { describe } from "./describe.ts";
import { offer } from "./offer.ts";
import { SCRIPT, STYLE } from "./style.ts";

/**
 * Creates the page.
 *
 * @param url The URL of the endpoint that clients use.
 * @param inspector The path of the page of `mcp-edge dev`, if that has passed the request on.
 */
export function createPage(registry: Registry, url: string, brand: Brand, inspector?: string): Response {
  const { info, rules, address, served } = describe(registry, url);
  const { title = info.name, icons = [], websiteUrl = "" } = info;
  const { name = title, accent } = brand;
  const logo = brand.logo ?? icons.find(({ src, theme }) => theme !== "dark" && imageSource(src))?.src;
  const { instructions } = registry.options;
  const lead = info.description ?? instructions;
  const site = websiteUrl.startsWith("https://")
    ? html`<a href="${websiteUrl}">${new URL(websiteUrl).host}</a> `
    : undefined;
  const test = inspector && html`<a href="${inspector}">Try it and see what each call does</a>`;
  const more = lead !== instructions && instructions;
  const about = html`${lead && html`<p class="lead">${lead}</p>`}${(site || test) && html`<p>${site}${test}</p>`}${more ? html`<details><summary>Instructions for models</summary><p>${more}</p></details>` : undefined}`;
  const body = html`${connect(address, commands(address))}<div>${offer(registry, rules)}</div><footer>MCP ${served.toReversed().join(", ")}</footer>`;
  const heading = html`${name} <small>${info.version}</small>`;
  return show({ name, logo, accent }, { heading, about, body });
}

/**
 * Creates the page that a browser sees if the endpoint refuses it. It does not name the server, because the reader was not admitted. The
 * brand is public: the sign-in pages show it too.
 *
 * @param refusal The response of the endpoint. Its status and its headers are kept.
 * @param message The reason, for people.
 */
export function createRefusal(refusal: Response, message: string, url: string, brand: Brand): Response {
  const { name = new URL(url).host, accent, logo } = brand;
  const address = { url, name, version: "", isModern: true };
  const isStranger = refusal.status === 401;
  const lead = isStranger ? "This MCP server is for signed-in users. Add it to a client, which signs you in." : message;
  const ways = isStranger ? connect(address, commands(address).slice(1)) : html``;
  const about = html`<p class="lead">${lead}</p>`;
  const page = show({ name, logo, accent }, { heading: html`${name}`, about, body: ways, status: refusal.status });
  for (const [header, value] of refusal.headers) if (!page.headers.has(header)) page.headers.set(header, value);
  return page;
}

/** The contents of a page. */
interface Content {
  readonly heading: Html;
  readonly about: Html;
  readonly body: Html;
  readonly status?: number;
}

interface Shown {
  readonly name: string;
  readonly logo: string | undefined;
  readonly accent: string | undefined;
}

function show({ name, logo, accent }: Shown, { heading, about, body, status }: Content): Response {
  const image = logo && html`<img src="${logo}" alt="">`;
  return respond({
    status,
    language: "en",
    title: html`${name}: MCP server`,
    head: logo === undefined ? undefined : html`<link rel="icon" href="${logo}">`,
    body: html`<main><header>${image}<h1>${heading}</h1>${about}</header>${body}</main><p role="status"></p>`,
    style: STYLE,
    script: SCRIPT,
    brand: { ...(accent && { accent }) },
    imageSource: logo && imageSource(logo),
    // The content depends on the caller.
    headers: { Vary: "Accept", "Referrer-Policy": "no-referrer" },
  });
}

/** Shows how to connect: the URL, links, and lines to paste, of which the last one is in view. */
function connect(address: Address, ways: readonly Way[]): Html {
  const block = (what: string, content: string) =>
    html`<pre class="copy"><button type="button" aria-label="Copy ${what}" hidden>Copy</button><code>${content}</code></pre>`;
  const [first, ...others] = ways
    .toReversed()
    .map(([client, command]) => html`<h3>${client}</h3>${block(`the command for ${client}`, command)}`);
  const buttons = links(address).map(([host, link]) => html`<a class="button" href="${link}">Add to ${host}</a>`);
  return html`<section class="card" aria-labelledby="connect"><h2 id="connect">Connect</h2>${block("the URL", address.url)}<div class="links">${buttons}</div>${first}<details><summary>Other clients</summary><p>Claude, ChatGPT and others take the URL as a custom connector. Most others have a configuration file:</p>${block("the configuration", configuration(address))}${others}</details></section>`;
}
