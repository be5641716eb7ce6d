/**
 * What the server offers, with a search.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Listed } from "../../client/index.ts";
import { type List, prompts, resources, templates, tools } from "../state/catalog.ts";
import { status } from "../state/connection.ts";
import { groupByName, isMatch, type TreeNode, toTree } from "../state/groups.ts";
import { type Kind, linkTo, route } from "../state/route.ts";
import { tasks } from "../state/tasks.ts";
import { Icon, type IconName } from "./icon.tsx";

export function Sidebar(): JSX.Element {
  const search = useSignal("");
  const words = search.value.toLowerCase();
  return (
    <nav class="sidebar" aria-label="What the server offers">
      <div class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          aria-label="Search tools, prompts and resources"
          placeholder="Search"
          value={search.value}
          onInput={({ currentTarget }) => {
            search.value = currentTarget.value;
          }}
        />
        <kbd>/</kbd>
      </div>
      <Section title="Tools" kind="tool" icon="tool" list={tools.value} words={words} keyOf={({ name }) => name} />
      <Section
        title="Prompts"
        kind="prompt"
        icon="prompt"
        list={prompts.value}
        words={words}
        keyOf={({ name }) => name}
      />
      <ResourceTree words={words} />
      <Section
        title="Templates"
        kind="template"
        icon="resource"
        list={templates.value}
        words={words}
        keyOf={({ uriTemplate }) => uriTemplate}
      />
      <section>
        <h2>Server</h2>
        <ul>
          <li>
            <Item
              kind="tasks"
              icon="task"
              text="Tasks"
              note={tasks.value.length > 0 ? String(tasks.value.length) : ""}
            />
          </li>
          <li>
            <Item kind="objects" icon="object" text="Objects" />
          </li>
          <li>
            <Item kind="settings" icon="settings" text="Connection" />
          </li>
        </ul>
      </section>
    </nav>
  );
}

interface SectionProps<T> {
  readonly title: string;
  readonly kind: Kind;
  readonly icon: IconName;
  readonly list: List<T>;
  readonly words: string;
  readonly keyOf: (item: T) => string;
}

function Section<T extends Listed>({ title, kind, icon, list, words, keyOf }: SectionProps<T>): JSX.Element | null {
  if (list.items === undefined)
    return status.value.is === "failed" ? null : (
      <section>
        <h2>{title}</h2>
        <p class="loading" />
      </section>
    );
  const found = list.items.filter((item) => isMatch([item.title, item.name, item.description, keyOf(item)], words));
  if (list.items.length === 0 && !list.problem) return null;
  const items = (of: readonly T[]) => (
    <ul>
      {of.map((item) => (
        <li key={keyOf(item)}>
          <Item kind={kind} key={keyOf(item)} id={keyOf(item)} icon={icon} text={item.title ?? item.name} />
        </li>
      ))}
    </ul>
  );
  return (
    <section>
      <h2>
        {title} <small>{found.length}</small>
      </h2>
      {list.problem && <p class="mistake">{list.problem}</p>}
      {groupByName(found).map(([group, of]) =>
        group === "" ? (
          items(of)
        ) : (
          <details key={group} open={words !== "" || of.some((item) => isHere(kind, keyOf(item)))}>
            <summary>
              {group} <small>{of.length}</small>
            </summary>
            {items(of)}
          </details>
        ),
      )}
      {found.length === 0 && <p class="empty">None of {list.items.length} fits.</p>}
    </section>
  );
}

function isHere(kind: Kind, key: string): boolean {
  return route.value.kind === kind && route.value.key === key;
}

function Item({
  kind,
  id = "",
  icon,
  text,
  note = "",
}: {
  readonly kind: Kind;
  readonly id?: string;
  readonly icon: IconName;
  readonly text: string;
  readonly note?: string;
}): JSX.Element {
  return (
    <a href={linkTo(kind, id)} {...(isHere(kind, id) && { "aria-current": "page" })}>
      <Icon name={icon} /> <span>{text}</span> {note && <small>{note}</small>}
    </a>
  );
}

function ResourceTree({ words }: { readonly words: string }): JSX.Element | null {
  const { items, problem } = resources.value;
  if (items === undefined) return null;
  const found = items.filter((item) => isMatch([item.title, item.name, item.description, item.uri], words));
  if (items.length === 0 && !problem) return null;
  return (
    <section>
      <h2>
        Resources <small>{found.length}</small>
      </h2>
      {problem && <p class="mistake">{problem}</p>}
      <Nodes nodes={toTree(found)} isOpen={words !== "" || found.length <= 12} />
      {found.length === 0 && <p class="empty">None of {items.length} fits.</p>}
    </section>
  );
}

function Nodes({ nodes, isOpen }: { readonly nodes: readonly TreeNode[]; readonly isOpen: boolean }): JSX.Element {
  return (
    <ul>
      {nodes.map((node) => (
        <li key={node.path}>
          {node.resource && (
            <Item kind="resource" id={node.resource.uri} icon="resource" text={node.resource.title ?? node.name} />
          )}
          {node.children.length > 0 && (
            <details open={isOpen}>
              <summary>{node.name}</summary>
              <Nodes nodes={node.children} isOpen={isOpen} />
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}
