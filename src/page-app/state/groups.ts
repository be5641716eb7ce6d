/**
 * Organizes lists for display: by group, by folder, and by search.
 *
 * @module
 */
import type { Listed, Resource } from "../../client/index.ts";

/** The member of `_meta` with the group of a definition. `page()` also reads it. */
const GROUP = "mcp-edge/group";

/** Returns the group of a definition; "" if it has none. */
export function groupOf({ _meta }: Listed): string {
  const named = _meta?.[GROUP];
  return typeof named === "string" ? named : "";
}

/** Returns the groups in order of appearance. Items without a group come first, in the group "". */
export function groupByName<T extends Listed>(
  items: readonly T[],
): readonly (readonly [name: string, items: readonly T[]])[] {
  const groups = new Map<string, T[]>([["", []]]);
  for (const item of items) {
    const name = groupOf(item);
    groups.set(name, [...(groups.get(name) ?? []), item]);
  }
  return [...groups].filter(([, of]) => of.length > 0);
}

/** Returns whether one of the texts contains the search words. */
export function isMatch(texts: readonly (string | undefined)[], words: string): boolean {
  return words === "" || texts.some((text) => text?.toLowerCase().includes(words) === true);
}

/** A folder of resources, a resource, or both. */
export interface TreeNode {
  readonly name: string;
  readonly path: string;
  readonly resource?: Resource;
  readonly children: readonly TreeNode[];
  /** Whether all resources in it have a group. Such folders are collapsed. */
  readonly isGrouped: boolean;
}

interface Building {
  readonly name: string;
  readonly path: string;
  resource?: Resource;
  readonly children: Map<string, Building>;
}

/** Returns resources as a tree of their URIs. A folder that only contains another folder is merged with it. */
export function toTree(resources: readonly Resource[]): readonly TreeNode[] {
  const root: Building = { name: "", path: "", children: new Map() };
  for (const resource of resources) {
    const [, scheme = "", rest = resource.uri] = /^([a-z][a-z\d+.-]*:\/{0,3})(.*)$/i.exec(resource.uri) ?? [];
    let node = root;
    for (const name of [scheme, ...rest.split("/")].filter(Boolean)) {
      const path = `${node.path}/${name}`;
      const child = node.children.get(name) ?? { name, path, children: new Map() };
      node.children.set(name, child);
      node = child;
    }
    node.resource = resource;
  }
  return [...root.children.values()].map(join);
}

function join(node: Building): TreeNode {
  const [only] = node.children.values();
  if (node.children.size === 1 && only && !node.resource && only.children.size > 0 && !only.resource) {
    const separator = node.name.endsWith("/") || node.name.endsWith(":") ? "" : "/";
    return join({ ...only, name: node.name + separator + only.name });
  }
  const { name, path, resource } = node;
  const children = [...node.children.values()].map(join);
  const isGrouped = (!resource || groupOf(resource) !== "") && children.every((child) => child.isGrouped);
  return { name, path, ...(resource && { resource }), children, isGrouped };
}
