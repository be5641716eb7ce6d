/**
 * The page for a person who opens the endpoint in a browser: what the server is, how to connect to it, and what it offers.
 *
 * @module
 */
import type { Registry } from "../core/define/registry.ts";
import { commands } from "./page/connect.ts";
import { describe } from "./page/describe.ts";

export { createPage, createRefusal } from "./page/html-page.ts";

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

/** Creates the page as text. @param url The URL of the endpoint that clients use. */
export function createText(registry: Registry, url: string): Response {
  const { address, info, served } = describe(registry, url);
  const { tools, prompts, resources, resourceTemplates } = registry;
  const counts = [
    count(tools.size, "tool"),
    count(prompts.size, "prompt"),
    count(resources.size, "resource"),
    count(resourceTemplates.size, "resource template"),
  ];
  const ways = commands(address).map(([client, command]) => `${client}:\n  ${command}`);
  const lines = [
    `${info.title ?? info.name} ${info.version}`,
    url,
    "",
    counts.join(", "),
    `MCP ${served.join(", ")}`,
    "",
    ...ways,
    "",
  ];
  return new Response(lines.join("\n"), {
    headers: {
      "Content-Type": "text/plain; charset=utf-8",
      // The content depends on the caller.
      "Cache-Control": "no-store",
      Vary: "Accept",
      "X-Content-Type-Options": "nosniff",
    },
  });
}

function count(size: number, noun: string): string {
  return `${size} ${noun}${size === 1 ? "" : "s"}`;
}
