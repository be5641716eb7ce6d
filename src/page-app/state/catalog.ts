/**
 * The lists of the server's tools, prompts, resources and templates.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { Client, Prompt, Resource, ResourceTemplate, Tool } from "../../client/index.ts";
import { messageOf } from "./calls.ts";
import { status } from "./connection.ts";

/** One list. Its items are undefined until it has been loaded. */
export interface List<T> {
  readonly items: readonly T[] | undefined;
  readonly problem?: string;
}

const EMPTY = { items: undefined };

export const tools = signal<List<Tool>>(EMPTY);
export const prompts = signal<List<Prompt>>(EMPTY);
export const resources = signal<List<Resource>>(EMPTY);
export const templates = signal<List<ResourceTemplate>>(EMPTY);

/** Loads a list if the server supports it. Until then, the previous items remain. */
async function read<T>(list: { value: List<T> }, has: boolean, all: () => Promise<T[]>): Promise<void> {
  if (!has) {
    list.value = { items: [] };
    return;
  }
  try {
    list.value = { items: await all() };
  } catch (error) {
    list.value = { items: list.value.items ?? [], problem: messageOf(error) };
  }
}

function client(): Client | undefined {
  return status.value.is === "connected" ? status.value.client : undefined;
}

export async function readTools(): Promise<void> {
  const from = client();
  if (from) await read(tools, from.server.capabilities.tools !== undefined, () => from.tools().all());
}

export async function readPrompts(): Promise<void> {
  const from = client();
  if (from) await read(prompts, from.server.capabilities.prompts !== undefined, () => from.prompts().all());
}

export async function readResources(): Promise<void> {
  const from = client();
  if (!from) return;
  const has = from.server.capabilities.resources !== undefined;
  await Promise.all([
    read(resources, has, () => from.resources().all()),
    read(templates, has, () => from.resourceTemplates().all()),
  ]);
}

/** Loads all lists. */
export async function readAll(): Promise<void> {
  await Promise.all([readTools(), readPrompts(), readResources()]);
}
