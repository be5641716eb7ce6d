/**
 * Compares two contracts of a server.
 *
 * @module
 */
import { quote } from "../core/basics/quote.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import { Budget, ExhaustedError } from "./budget.ts";
import { type Change, type ChangedKind, Changes, type InnerChange, type Severity } from "./changes.ts";
import { compareSchemas, NEW_TEXT } from "./compare-schemas.ts";
import type { Contract, LockedHints, LockedPrompt, LockedTool } from "./contract.ts";
import { escapeAll, escapeHidden, isAlike } from "./hidden.ts";
import { isSame, toSortedText } from "./json.ts";
import { hasNewText } from "./texts.ts";

/**
 * Returns the changes from one contract to another, in the order of the contract; an empty list if they are equal.
 *
 * @throws {Error} if a contract comes neither from `createContract()` nor from `parseContract()`, and is nested too deeply.
 */
export function compareContracts(before: Contract, after: Contract): Change[] {
  const changes = new Changes();
  const budget = new Budget();
  compareServers(before, after, changes);
  compareScopes(before.scopes, after.scopes, changes);
  const findRenamed = renames(before.tools, after.tools);
  compareLists(before.tools, after.tools, nameOf, {
    added: (name) => changes.add("tool", name, "compatible", "was added"),
    removed: (name, tool) => changes.add("tool", name, "breaking", removedReason(findRenamed(tool))),
    kept: (name, old, now) => addAll(changes, "tool", name, compareTools(old, now, budget)),
    twice: (name) => changes.add("tool", name, "breaking", LISTED_TWICE),
  });
  compareLists(before.prompts, after.prompts, nameOf, {
    added: (name) => changes.add("prompt", name, "compatible", "was added"),
    removed: (name) => changes.add("prompt", name, "breaking", "was removed"),
    kept: (name, old, now) => addAll(changes, "prompt", name, comparePrompts(old, now)),
    twice: (name) => changes.add("prompt", name, "breaking", LISTED_TWICE),
  });
  compareLists(before.resources, after.resources, ({ uri }) => uri, {
    added: (name) => changes.add("resource", name, "compatible", "was added"),
    removed: (name) => changes.add("resource", name, "breaking", "was removed"),
    kept: (name, old, now) => addAll(changes, "resource", name, compareTexts(old, now)),
    twice: (name) => changes.add("resource", name, "breaking", LISTED_TWICE),
  });
  compareLists(before.resourceTemplates, after.resourceTemplates, ({ uriTemplate }) => uriTemplate, {
    added: (name) => changes.add("template", name, "compatible", "was added"),
    removed: (name) => changes.add("template", name, "breaking", "was removed"),
    kept: (name, old, now) => addAll(changes, "template", name, compareTexts(old, now)),
    twice: (name) => changes.add("template", name, "breaking", LISTED_TWICE),
  });
  return changes.list;
}

/** The reason for a definition whose name the server lists again. */
const LISTED_TWICE = "is listed twice, and callers cannot tell which definition applies";

/**
 * Returns the changes of a tool, an empty list if there are none.
 *
 * @throws {DepthError} if a schema is nested too deeply.
 */
export function compareTools(before: LockedTool, after: LockedTool, budget: Budget = new Budget()): InnerChange[] {
  return [
    ...compareTexts(before, after),
    ...compareSchemas(before.inputSchema, after.inputSchema, "input", budget),
    ...compareOutputs(before.outputSchema, after.outputSchema, budget),
    ...compareHints(before.annotations, after.annotations),
    ...(isSame(before._meta, after._meta) ? [] : [review("_meta", "its view of MCP Apps has changed")]),
  ].map(({ severity, path, reason }) => ({ severity, path: escapeHidden(path), reason: escapeHidden(reason) }));
}

function compareOutputs(before: JsonObject | undefined, after: JsonObject | undefined, budget: Budget): InnerChange[] {
  if (before && after) return compareSchemas(before, after, "output", budget);
  if (before) return [{ severity: "breaking", path: "output", reason: "its output schema was removed" }];
  if (!after) return [];
  const reason = "an output schema was added";
  return hasText(after, budget)
    ? [review("output", `${reason}, ${NEW_TEXT}`)]
    : [{ severity: "compatible", path: "output", reason }];
}

/** Whether a schema contains text that models read. What is too large to be searched counts as text. */
function hasText(schema: JsonObject, budget: Budget): boolean {
  try {
    return hasNewText(schema, {}, schema, budget);
  } catch (error) {
    if (error instanceof ExhaustedError) return true;
    throw error;
  }
}

function compareHints(before: LockedHints, after: LockedHints): InnerChange[] {
  const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;
  return hints
    .filter((hint) => before[hint] !== after[hint])
    .map((hint) => ({
      severity: severityOfHint(hint, after[hint]),
      path: hint,
      reason: `was ${before[hint]} and is ${after[hint]}${HINT_REASONS[`${hint} ${after[hint]}`] ?? ""}`,
    }));
}

const HINT_REASONS: Readonly<Record<string, string>> = {
  "readOnlyHint false": ", so the tool may have side effects now",
  "destructiveHint true": ", so the tool may delete or overwrite data now",
};

function severityOfHint(hint: keyof LockedHints, value: boolean): Severity {
  return HINT_REASONS[`${hint} ${value}`] === undefined ? "review" : "breaking";
}

function comparePrompts(before: LockedPrompt, after: LockedPrompt): InnerChange[] {
  const found = compareTexts(before, after);
  compareLists(before.arguments, after.arguments, nameOf, {
    added: (name, { required, title, description }) => {
      const hasText = title !== undefined || description !== undefined;
      const severity = required ? "breaking" : hasText ? "review" : "compatible";
      const text = hasText && !required ? `, ${NEW_TEXT}` : "";
      const reason = `was added and is ${required ? "required" : "optional"}${text}`;
      found.push({ severity, path: `arguments.${name}`, reason });
    },
    removed: (name) => found.push(review(`arguments.${name}`, "was removed, so the server may ignore it")),
    kept: (name, old, now) => {
      const path = `arguments.${name}`;
      if (!old.required && now.required) found.push({ severity: "breaking", path, reason: "is now required" });
      if (old.required && !now.required) found.push({ severity: "compatible", path, reason: "is no longer required" });
      found.push(...compareTexts(old, now).map((each) => ({ ...each, path })));
    },
    twice: (name) => found.push({ severity: "breaking", path: `arguments.${name}`, reason: LISTED_TWICE }),
  });
  return found;
}

type Texts = Readonly<Partial<Record<"name" | "title" | "description" | "mimeType", string>>>;

function compareTexts(before: Texts, after: Texts): InnerChange[] {
  const members = ["name", "title", "description", "mimeType"] as const;
  return members
    .filter((member) => before[member] !== after[member])
    .map((member) => review("", `its ${member} ${describe(before[member], after[member])}`));
}

/** The maximum number of characters of a text that a reason repeats. Longer ones are only said to have changed. @limit internal */
const REPEATED_MAX = 60;

function describe(before: string | undefined, after: string | undefined): string {
  if (after === undefined) return "was removed";
  if (before === undefined) return "was added";
  const looksSame = isAlike(before, after);
  if (before.length > REPEATED_MAX || after.length > REPEATED_MAX)
    return looksSame ? "has changed in characters that are invisible or look alike" : "has changed";
  const show = (text: string) => (looksSame ? escapeAll(quote(text)) : quote(text));
  return `was ${show(before)} and is ${show(after)}`;
}

function compareServers(before: Contract, after: Contract, changes: Changes): void {
  const [old, now] = [before.server, after.server];
  if (old.name !== now.name) changes.add("server", "", "review", `its name ${describe(old.name, now.name)}`);
  if (old.instructions === now.instructions) return;
  changes.add(
    "server",
    "",
    "review",
    `its text for models (instructions) ${describe(old.instructions, now.instructions)}`,
  );
}

function compareScopes(before: readonly string[] | undefined, after: readonly string[] | undefined, changes: Changes) {
  if (before === undefined && after === undefined) return;
  if (before === undefined) changes.add("scope", "", "review", "scopes are announced now, so a token may be required");
  if (after === undefined) changes.add("scope", "", "review", "scopes are no longer announced");
  if (before === undefined || after === undefined) return;
  const [old, now] = [new Set(before), new Set(after)];
  for (const scope of before.filter((each) => !now.has(each)))
    changes.add("scope", scope, "breaking", "was removed, so a sign-in that asks for it may fail");
  for (const scope of after.filter((each) => !old.has(each)))
    changes.add("scope", scope, "review", "was added, and calls may require it now");
}

function removedReason(renamed: LockedTool | undefined): string {
  return renamed ? `was removed; renamed to ${quote(renamed.name)}?` : "was removed";
}

/** Returns a function that finds the new tool with the arguments of a removed one, and a similar description. */
function renames(
  before: readonly LockedTool[],
  after: readonly LockedTool[],
): (removed: LockedTool) => LockedTool | undefined {
  const known = new Set(before.map(nameOf));
  const added = new Map<string, { readonly tool: LockedTool; readonly words: ReadonlySet<string> }[]>();
  for (const tool of after.filter(({ name }) => !known.has(name))) {
    const key = toSortedText(tool.inputSchema);
    const same = added.get(key) ?? [];
    if (same.length < CANDIDATES_MAX) same.push({ tool, words: wordsOf(tool) });
    added.set(key, same);
  }
  return (removed) => {
    const same = added.get(toSortedText(removed.inputSchema));
    if (!same) return undefined;
    const words = wordsOf(removed);
    return same.find((each) => isSimilar(each.words, words))?.tool;
  };
}

/** The maximum number of new tools with the same arguments that are compared with a removed one. @limit internal */
const CANDIDATES_MAX = 10;

/** Whether at least half of the words are the same. */
function isSimilar(words: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  const shared = [...words].filter((word) => others.has(word)).length;
  return shared * 2 >= Math.max(words.size, others.size);
}

/** Returns the words at the beginning of a tool's description. */
function wordsOf({ description = "" }: LockedTool): ReadonlySet<string> {
  return new Set(description.slice(0, COMPARED_CHARS_MAX).toLowerCase().split(/\W+/));
}

/** The maximum number of characters of a description that are compared. @limit internal */
const COMPARED_CHARS_MAX = 3_000;

/** The functions that handle the items of two lists. */
interface Handlers<T> {
  added(name: string, item: T): void;
  removed(name: string, item: T): void;
  kept(name: string, before: T, after: T): void;
  /** Handles an additional item whose name is already in the lists. */
  twice(name: string): void;
}

function compareLists<T>(
  before: readonly T[],
  after: readonly T[],
  getName: (item: T) => string,
  { added, removed, kept, twice }: Handlers<T>,
): void {
  const [old, now] = [byName(before, getName), byName(after, getName)];
  for (const [key, item] of old) {
    const current = now.get(key);
    if (current === undefined) removed(getName(item), item);
    else kept(getName(item), item, current);
  }
  const known = new Set(before.map(getName));
  for (const [key, item] of now) {
    const name = getName(item);
    if (old.has(key)) continue;
    // A caller cannot tell which of several definitions with the same name is called.
    if (known.has(name)) twice(name);
    else added(name, item);
    known.add(name);
  }
}

/** Returns items by name. Of several with the same name, each has its own key. */
function byName<T>(items: readonly T[], getName: (item: T) => string): Map<string, T> {
  const counts = new Map<string, number>();
  const entries = items.map((item): [string, T] => {
    const name = getName(item);
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return [JSON.stringify([name, count]), item];
  });
  return new Map(entries);
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

function review(path: string, reason: string): InnerChange {
  return { severity: "review", path, reason };
}

function addAll(changes: Changes, kind: ChangedKind, name: string, found: readonly InnerChange[]): void {
  for (const { severity, reason, path } of found) changes.add(kind, name, severity, reason, path);
}
