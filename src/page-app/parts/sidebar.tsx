/**
 * The sidebar: the tools, prompts and resources of the server, with a search.
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
import { Fold } from "./fold.tsx";
import { Icon } from "./icon.tsx";
import { Mistake } from "./panel-frame.tsx";

const nameOf = ({ name }: Listed): string => name;

export function Sidebar(): JSX.Element {
  const search = useSignal("");
  const words = search.value.toLowerCase();
  return (
    <nav class="sidebar" aria-label="Server">
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
      <Section title="Tools" kind="tool" list={tools.value} words={words} keyOf={nameOf} />
      <Section title="Prompts" kind="prompt" list={prompts.value} words={words} keyOf={nameOf} />
      <Section
        title="Resources"
        kind="resource"
        list={resources.value}
        words={words}
        keyOf={({ uri }) => uri}
        show={(found) => <Nodes nodes={toTree(found)} isOpen={words !== ""} />}
      />
      <Section
        title="Templates"
        kind="template"
        list={templates.value}
        words={words}
        keyOf={({ uriTemplate }) => uriTemplate}
      />
      <section>
        <h2>Server</h2>
        <ul>
          <li>
            <Item kind="tasks" text={`Tasks ${tasks.value.length || ""}`} />
          </li>
          <li>
            <Item kind="objects" text="Objects" />
          </li>
          <li>
            <Item kind="settings" text="Connection" />
          </li>
        </ul>
      </section>
    </nav>
  );
}

interface SectionProps<T> {
  readonly title: string;
  readonly kind: Kind;
  readonly list: List<T>;
  readonly words: string;
  readonly keyOf: (item: T) => string;
  /** Shows the found items. @default shows them by group */
  readonly show?: (found: readonly T[]) => JSX.Element;
}

function Section<T extends Listed>({ title, kind, list, words, keyOf, show }: SectionProps<T>): JSX.Element | null {
  const { items, problem } = list;
  if (items === undefined ? status.value.is === "failed" : items.length === 0 && !problem) return null;
  const found = items?.filter((item) => isMatch([item.title, item.name, item.description, keyOf(item)], words)) ?? [];
  return (
    <section>
      <h2>
        {title} <small>{items && `${found.length} · ${Math.ceil(JSON.stringify(items).length / 1024)} KiB`}</small>
      </h2>
      <Mistake text={problem} />
      {items === undefined && <p class="loading" />}
      {show?.(found) ?? <Groups kind={kind} found={found} keyOf={keyOf} isOpen={words !== ""} />}
      {items && found.length === 0 && <p class="empty">No match.</p>}
    </section>
  );
}

interface GroupsProps<T> {
  readonly kind: Kind;
  readonly found: readonly T[];
  readonly keyOf: (item: T) => string;
  readonly isOpen: boolean;
}

function Groups<T extends Listed>({ kind, found, keyOf, isOpen }: GroupsProps<T>): JSX.Element {
  const items = (of: readonly T[]) => (
    <ul>
      {of.map((item) => (
        <li key={keyOf(item)}>
          <Item kind={kind} id={keyOf(item)} text={item.title ?? item.name} />
        </li>
      ))}
    </ul>
  );
  return (
    <>
      {groupByName(found).map(([group, of]) =>
        group === "" ? (
          items(of)
        ) : (
          <Fold
            key={group}
            isOpen={isOpen || of.some((item) => isHere(kind, keyOf(item)))}
            title={
              <>
                {group} <small>{of.length}</small>
              </>
            }
          >
            {items(of)}
          </Fold>
        ),
      )}
    </>
  );
}

function isHere(kind: Kind, key: string): boolean {
  return route.value.kind === kind && route.value.key === key;
}

interface ItemProps {
  readonly kind: Kind;
  readonly id?: string;
  readonly text: string;
}

function Item({ kind, id = "", text }: ItemProps): JSX.Element {
  return (
    <a href={linkTo(kind, id)} {...(isHere(kind, id) && { "aria-current": "page" })}>
      {text}
    </a>
  );
}

function Nodes({ nodes, isOpen }: { readonly nodes: readonly TreeNode[]; readonly isOpen: boolean }): JSX.Element {
  return (
    <ul>
      {nodes.map((node) => (
        <li key={node.path}>
          {node.resource && <Item kind="resource" id={node.resource.uri} text={node.resource.title ?? node.name} />}
          {node.children.length > 0 && (
            <Fold title={node.name} isOpen={isOpen || !node.isGrouped}>
              <Nodes nodes={node.children} isOpen={isOpen} />
            </Fold>
          )}
        </li>
      ))}
    </ul>
  );
}
