/** The shape of values: which members they have, and of which types. It identifies a layout, whatever the values are. */

/** A type of JSON, a list of alternatives, or a record of members. A member whose name ends in "?" is not always present. */
export type Shape = string | readonly Shape[] | { readonly [member: string]: Shape };

export interface Recorded {
  readonly name: string;
  readonly shape: Shape;
}

/** Returns the shape of a value, joined with the shape of earlier values. */
export function shapeOf(value: unknown, before?: Shape): Shape {
  const shape = describe(value);
  return before === undefined ? shape : join(before, shape);
}

function describe(value: unknown): Shape {
  if (value === undefined) return "undefined";
  if (value === null) return "null";
  if (Array.isArray(value)) {
    const [first, ...others] = value.map(describe);
    return first === undefined ? { "[]": "nothing" } : { "[]": others.reduce(join, first) };
  }
  if (typeof value === "object") {
    let shape: Readonly<Record<string, Shape>> = {};
    for (const [name, member] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (member === undefined) continue;
      const key = nameOf(name);
      const own = FOREIGN.has(name) ? "any" : describe(member);
      const before: Shape | undefined = shape[key];
      shape = { ...shape, [key]: before === undefined ? own : join(before, own) };
    }
    return shape;
  }
  if (typeof value === "string" && /^[A-Za-z-]{1,20}$/.test(value) && KINDS.has(value)) return `"${value}"`;
  return typeof value;
}

/** Strings that select between forms of a message, and are therefore part of its shape. */
const KINDS = new Set([
  "hello",
  "events",
  "final",
  "retry",
  "begun",
  "filter",
  "call",
  "again",
  "standalone",
  "resume",
  "run",
  "new",
  "used",
  "too-many",
]);

/** Members whose content belongs to the protocol or to the author, not to the kit. */
const FOREIGN = new Set(["message", "params", "arguments", "content"]);

/** Names that are not identifiers are data, such as the ids of questions. */
function nameOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) || /^[A-Z][\w-]*$/.test(name) ? name : "*";
}

/** Returns the shape of values that have one of two shapes. */
export function join(one: Shape, other: Shape): Shape {
  if (isRecord(one) && isRecord(other) && isList(one) === isList(other) && kindOf(one) === kindOf(other)) {
    const names = new Set([...Object.keys(one), ...Object.keys(other)].map((name) => name.replace(/\?$/, "")));
    const find = (shape: { readonly [member: string]: Shape }, name: string) => shape[name] ?? shape[`${name}?`];
    return Object.fromEntries(
      [...names].sort().map((name) => {
        const [a, b] = [find(one, name), find(other, name)];
        const isOptional = !isList(one) && name !== "*" && !(Object.hasOwn(one, name) && Object.hasOwn(other, name));
        return [isOptional ? `${name}?` : name, a === undefined ? (b as Shape) : b === undefined ? a : join(a, b)];
      }),
    );
  }
  const all: Shape[] = [];
  for (const each of [one, other].flatMap((shape) => (Array.isArray(shape) ? (shape as Shape[]) : [shape as Shape]))) {
    if (each === "nothing") continue;
    const at = all.findIndex(
      (known) => isRecord(known) && isRecord(each) && isList(known) === isList(each) && kindOf(known) === kindOf(each),
    );
    if (at >= 0) all[at] = join(all[at] as Shape, each);
    else if (!all.some((known) => JSON.stringify(known) === JSON.stringify(each))) all.push(each);
  }
  const sorted = all.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return sorted.length > 1 ? sorted : (sorted[0] ?? "nothing");
}

function isRecord(shape: Shape): shape is { readonly [member: string]: Shape } {
  return typeof shape === "object" && !Array.isArray(shape);
}

function isList(shape: { readonly [member: string]: Shape }): boolean {
  return Object.hasOwn(shape, "[]");
}

/** The member `kind` of a message, by which its form is selected. */
function kindOf({ kind }: { readonly [member: string]: Shape }): Shape | undefined {
  return kind;
}
