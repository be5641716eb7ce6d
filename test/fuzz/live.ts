/** Values that the server issued, for reuse in inputs: session ids, cursors, states, task ids. */
import type { Random } from "../chaos/random.ts";

const KINDS = ["session", "event", "cursor", "state", "task", "request", "question", "post"] as const;
export type LiveKind = (typeof KINDS)[number];

/** The number of values kept per kind; the oldest are dropped. */
const KEPT_MAX = 24;

export class LiveValues {
  readonly #values = new Map<LiveKind, string[]>(KINDS.map((kind) => [kind, []]));

  add(kind: LiveKind, value: unknown): void {
    if (typeof value !== "string" || value === "") return;
    const values = this.#values.get(kind) ?? [];
    if (values.includes(value)) return;
    values.push(value);
    if (values.length > KEPT_MAX) values.shift();
  }

  /** Returns a value of a kind, often slightly damaged; undefined if there is none. */
  pick(kind: LiveKind, random: Random): string | undefined {
    const values = this.#values.get(kind) ?? [];
    if (values.length === 0) return undefined;
    // Prefers new values, which belong to something that still runs.
    const place = Math.floor(values.length * Math.sqrt(random.next()));
    const value = values[Math.min(place, values.length - 1)] ?? "";
    return random.chance(0.9) ? value : damage(value, random);
  }

  /** Records the values in a response. */
  harvest(headers: Readonly<Record<string, string | string[] | undefined>>, body: string): void {
    this.add("session", headers["mcp-session-id"]);
    for (const [, id] of body.matchAll(/^id: (.+)$/gm)) this.add("event", id);
    for (const [, uri] of body.matchAll(/^event: endpoint\ndata: (.+)$/gm)) this.add("post", uri);
    for (const [, kind = "", value] of body.matchAll(/"(nextCursor|requestState|taskId)":"([^"\\]+)"/g)) {
      this.add(MEMBERS[kind] ?? "cursor", value);
    }
    for (const [, id] of body.matchAll(/"id":("[^"\\]*"|\d+),"method"/g)) this.add("request", id);
    for (const [, key] of body.matchAll(/"inputRequests":\{"([^"\\]+)"/g)) this.add("question", key);
  }
}

const MEMBERS: Readonly<Record<string, LiveKind>> = { nextCursor: "cursor", requestState: "state", taskId: "task" };

function damage(value: string, random: Random): string {
  const at = random.int(0, value.length - 1);
  const other = String.fromCharCode(random.int(33, 126));
  const text = random.pick([
    [3, value.slice(0, at) + other + value.slice(at + 1)],
    [1, value.slice(0, at)],
    [1, value + other],
    [1, value.toUpperCase()],
  ]);
  return text;
}
