/**
 * The values in the sources on which a Worker and its objects, or a release and the data of an earlier release, must agree:
 * names of headers, close codes, statuses of refused WebSockets, and numbers in tables.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./bundle.ts";

const CONSTANTS: Readonly<Record<string, readonly string[]>> = {
  "src/worker/bindings.ts": ["MISDIRECTED"],
  "src/worker/reconnecting-socket.ts": ["OVER", "SUPERSEDED", "GONE"],
  "src/worker/hub/hub-messages.ts": ["CLAIM_HEADER", "OBJECTS_HEADER"],
  "src/worker/once/once-object.ts": ["PRESENT_HEADER", "RUN"],
  "src/worker/sessions/bridge-messages.ts": ["ATTACH_HEADER"],
};

/** The modules whose numbers are stored, by the name of their layout. */
const NUMBERS: Readonly<Record<string, string>> = {
  "src/worker/sessions/stream-kind.ts": "StreamKind",
  "src/worker/sessions/event-kind.ts": "EventKind",
};

/** The files whose responses to a request for a WebSocket have statuses, by role. */
const REFUSALS: Readonly<Record<string, readonly string[]>> = {
  hub: ["src/worker/hub/hub-object.ts"],
  once: ["src/worker/once/once-object.ts"],
  session: ["src/worker/sessions/session-object.ts", "src/worker/sessions/session-streams.ts"],
};

/** Returns the constants, as layouts: text by name. */
export function describeConstants(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [path, names] of Object.entries(CONSTANTS)) {
    const source = withoutComments(path);
    for (const name of names) {
      const [, value] = new RegExp(`export const ${name} = ([^;]+);`).exec(source) ?? [];
      if (value === undefined) throw new Error(`${path} has no constant ${name}.`);
      found[`constant ${name}`] = value.replace(/\s+/g, " ");
    }
  }
  for (const [path, name] of Object.entries(NUMBERS)) {
    const numbers = [...withoutComments(path).matchAll(/export const (\w+) = (\d+)/g)];
    if (numbers.length === 0) throw new Error(`${path} has no numbers.`);
    found[`constant ${name}`] = `{ ${numbers.map(([, key, number]) => `${key}: ${number}, `).join("")}} as const`;
  }
  for (const [role, paths] of Object.entries(REFUSALS)) {
    const statuses = paths.flatMap((path) => [...withoutComments(path).matchAll(/\bstatus: (\d+)/g)]);
    found[`statuses of ${role}`] = [...new Set(statuses.map(([, status]) => status))].sort().join(" ");
  }
  return found;
}

function withoutComments(path: string): string {
  return readFileSync(join(ROOT, path), "utf8").replace(/\/\*\*[\s\S]*?\*\/|\/\/.*/g, "");
}
