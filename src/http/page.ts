/**
 * A small page for people who open the endpoint in a browser. It shows what the server offers and how to connect to it.
 *
 * @module
 */
import type { Registry } from "../core/define/registry.ts";
import { VERSIONS } from "../core/protocol/versions.ts";

/** The forms of the page. */
export type PageForm = "html" | "text";

/**
 * Returns the form in which a request accepts the page; undefined if it does not accept it. A client that accepts event
 * streams never gets the page.
 */
export function pageForm({ method, headers }: Request): PageForm | undefined {
  if (method !== "GET" && method !== "HEAD") return undefined;
  const accept = headers.get("Accept")?.toLowerCase() ?? "";
  if (accept.includes("text/event-stream")) return undefined;
  if (accept.includes("text/html")) return "html";
  return accept.includes("text/plain") ? "text" : undefined;
}

/** Creates the page. @param url The URL of the endpoint that clients use. */
export function createPage(registry: Registry, url: string, form: PageForm): Response {
  const { title, lines, commands } = createContent(registry, url);
  const headers = {
    "Content-Type": `text/${form === "html" ? "html" : "plain"}; charset=utf-8`,
    // The content depends on the caller.
    "Cache-Control": "no-store",
    Vary: "Accept",
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
  };
  const body = form === "html" ? html(title, url, lines, commands) : text(title, url, lines, commands);
  return new Response(body, { headers });
}

type Commands = readonly (readonly [client: string, command: string])[];

function createContent(registry: Registry, url: string): { title: string; lines: string[]; commands: Commands } {
  const served = VERSIONS.filter(({ version }) => registry.versions.find(version));
  const newest = served[served.length - 1] ?? VERSIONS[0];
  const { name, title = name, version } = newest ? registry.info(newest) : {};
  const counts = [
    count(registry.tools.size, "tool"),
    count(registry.prompts.size, "prompt"),
    count(registry.resources.size, "resource"),
    count(registry.resourceTemplates.size, "resource template"),
  ];
  return {
    title: `${title} ${version}`,
    lines: [counts.join(", "), `MCP ${served.map((rules) => rules.version).join(", ")}`],
    commands: commandsFor(url, String(name), newest?.era === "modern" ? newest.version : undefined, newest?.version),
  };
}

function count(size: number, noun: string): string {
  return `${size} ${noun}${size === 1 ? "" : "s"}`;
}

/** Returns a shell command for each client. */
function commandsFor(url: string, name: string, modern: string | undefined, version: string | undefined): Commands {
  // Quoted for the shell. A single quote inside the URL is percent-encoded.
  const address = /^[\w.:/%@+,=-]*$/.test(url) ? url : `'${url.replaceAll("'", "%27")}'`;
  // A name that begins with a dash would be an option.
  const plainName = name.replaceAll(/[^\w-]+/g, "-").replace(/^-+/, "") || "mcp";
  const clientInfo = { name: "curl", version: "1" };
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": modern,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const [method, params, headers] = modern
    ? ["tools/list", { _meta }, ` -H 'MCP-Protocol-Version: ${modern}' -H 'Mcp-Method: tools/list'`]
    : ["initialize", { protocolVersion: version, capabilities: {}, clientInfo }, ""];
  const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return [
    ["curl", `curl ${address} -H 'Content-Type: application/json'${headers} -d '${message}'`],
    ["Inspector", `npx @modelcontextprotocol/inspector --transport http --server-url ${address}`],
    ["Claude Code", `claude mcp add --transport http ${plainName} ${address}`],
  ];
}

function text(title: string, url: string, lines: readonly string[], commands: Commands): string {
  return [title, url, "", ...lines, "", ...commands.map(([client, command]) => `${client}:\n  ${command}`), ""].join(
    "\n",
  );
}

function html(title: string, url: string, lines: readonly string[], commands: Commands): string {
  const heading = escapeHtml(title);
  const blocks = commands.map(
    ([client, command]) => `<h2>${client}</h2><pre><code>${escapeHtml(command)}</code></pre>`,
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${heading}</title><style>${STYLE}</style></head><body><main><h1>${heading}</h1><p>This is an MCP server. Add this URL to an MCP client:</p><pre><code>${escapeHtml(url)}</code></pre>${lines.map((line) => `<p>${escapeHtml(line)}</p>`).join("")}${blocks.join("")}</main></body></html>\n`;
}

/** Follows the reader's dark or light mode. Long lines wrap, so that the page never scrolls sideways. */
const STYLE =
  ":root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}main{max-width:45rem;margin:2rem auto;padding:0 1rem}pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid;padding:.5rem}";

/** The SHA-256 hash of {@link STYLE}, so that the policy allows this style only. */
const STYLE_HASH = "zLzifAa30Nq/0ZQN3ml4oTxkSuI4aX3i2mI25eOrm5M=";

const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

function escapeHtml(value: string): string {
  return value.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
