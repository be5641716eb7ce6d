/**
 * Lists what a server offers, for people: tools, prompts, resources and resource templates.
 *
 * @module
 */
import type { CatalogItem } from "../../core/define/catalog.ts";
import type { Registry } from "../../core/define/registry.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { VersionRules } from "../../core/protocol/versions.ts";
import { type Html, html } from "../../look/html.ts";
import { type Member, members } from "./schema-text.ts";

/** The member of `_meta` that names the group of a definition. */
const GROUP = "mcp-edge/group";

/** Returns the sections of the page, one for each kind of definition that the server has. */
export function offer(registry: Registry, rules: VersionRules): Html {
  const { tools, prompts, resources, resourceTemplates } = registry;
  const section = (id: string, title: string, items: Iterable<CatalogItem>, show: (entry: JsonObject) => Html) => {
    const entries = [...items].map((item) => item.entry(rules));
    if (entries.length === 0) return undefined;
    // Node 20 has neither Object.groupBy nor Map.groupBy.
    const named = new Map<string, JsonObject[]>();
    for (const entry of entries) {
      const name = groupOf(entry._meta);
      const group = named.get(name);
      if (group) group.push(entry);
      else named.set(name, [entry]);
    }
    const list = (name: string) =>
      html`<ul class="list">${named.get(name)?.map((entry) => html`<li>${show(entry)}</li>`)}</ul>`;
    const groups = [...named.keys()].filter((name) => name !== "");
    const folded = groups.map(
      (name) =>
        html`<details class="group"><summary>${name} <small>${`${named.get(name)?.length}`}</small></summary>${list(name)}</details>`,
    );
    return html`<section aria-labelledby="${id}"><h2 id="${id}">${title} <small>${`${entries.length}`}</small></h2>${named.has("") ? list("") : undefined}${folded}</section>`;
  };
  return html`${[
    section("tools", "Tools", tools.values(), showTool),
    section("prompts", "Prompts", prompts.values(), showPrompt),
    section("resources", "Resources", resources.values(), (entry) => showItem(entry, [], text(entry.uri))),
    section("templates", "Resource templates", resourceTemplates.values(), (entry) =>
      showItem(entry, [], text(entry.uriTemplate)),
    ),
  ]}`;
}

/** Definitions without a group have the group "". */
function groupOf(meta: unknown): string {
  return (isObject(meta) && text(meta[GROUP])) || "";
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function showTool(entry: JsonObject): Html {
  const { readOnlyHint, destructiveHint, title } = isObject(entry.annotations) ? entry.annotations : {};
  const hint = readOnlyHint === true ? "Read-only" : destructiveHint === true ? "May delete or overwrite" : undefined;
  const shown = { ...entry, title: entry.title ?? title };
  return showItem(shown, members(isObject(entry.inputSchema) ? entry.inputSchema : {}), text(entry.name), hint);
}

function showPrompt(entry: JsonObject): Html {
  const given = Array.isArray(entry.arguments) ? entry.arguments.filter(isObject) : [];
  const parameters = given.map(({ name, description, required }) => ({
    name: text(name),
    type: "string",
    isRequired: required === true,
    description: text(description) || undefined,
  }));
  return showItem(entry, parameters, text(entry.name));
}

/** Shows one definition. With parameters, it unfolds. @param key The name or URI that programs use. */
function showItem(entry: JsonObject, parameters: readonly Member[], key: string, hint?: string): Html {
  const title = text(entry.title) || text(entry.name) || key;
  const description = text(entry.description);
  const head = html`<h3>${title}</h3>${title !== key ? html` <code>${key}</code>` : undefined}${hint && html` <em>${hint}</em>`}${description && html`<span class="about">${description}</span>`}`;
  if (parameters.length === 0) return html`<div>${head}</div>`;
  const rows = parameters.map(
    ({ name, type, isRequired, description }) =>
      html`<div><dt><code>${name}</code>${isRequired ? html` <b>required</b>` : undefined} <code class="type">${type}</code></dt>${description && html`<dd>${description}</dd>`}</div>`,
  );
  return html`<details><summary>${head}</summary><dl>${rows}</dl></details>`;
}
