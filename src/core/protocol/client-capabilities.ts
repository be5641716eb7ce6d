/**
 * The capabilities that a client declares, and their encoding in session ids.
 *
 * @module
 */
import { isObject, type JsonObject } from "./jsonrpc.ts";

/** Capabilities as a client declares them; unknown members are kept. */
export interface ClientCapabilities extends JsonObject {
  /** Declared by a client that lets its model answer `ctx.sample`. */
  readonly sampling?: JsonObject;
  /** Declared by a client that asks its user for `ctx.elicit` and `ctx.elicitUrl`. */
  readonly elicitation?: JsonObject;
  /** Declared by a client that lists its roots for `ctx.listRoots`. */
  readonly roots?: JsonObject;
  /** The extensions that the client supports, by name, each with its settings. */
  readonly extensions?: JsonObject;
}

/** The name of a capability that a handler may check. An empty `elicitation: {}` includes `elicitation.form`. */
export type ClientCapabilityName =
  | "sampling"
  | "sampling.tools"
  | "sampling.context"
  | "elicitation"
  | "elicitation.form"
  | "elicitation.url"
  | "roots"
  | "roots.listChanged"
  | "experimental";

/** Whether the capabilities contain the named one. */
export function hasCapability(capabilities: ClientCapabilities, name: ClientCapabilityName): boolean {
  const [kind, mode] = name.split(".") as [keyof ClientCapabilities & string, string | undefined];
  const declared = capabilities[kind];
  if (!isObject(declared)) return false;
  if (mode === undefined) return true;
  // Before modes existed, `elicitation: {}` meant forms, and the specification still says so.
  if (mode === "form") return declared.form !== undefined || declared.url === undefined;
  // `roots.listChanged` is true or false; all other modes are objects.
  return declared[mode] !== undefined && declared[mode] !== false;
}

/** Returns the object that declares these capabilities: `sampling.tools` gives `{ sampling: { tools: {} } }`. */
export function capabilityObject(names: readonly ClientCapabilityName[]): JsonObject {
  const required: { [kind: string]: JsonObject } = {};
  for (const name of names) {
    const [kind, mode] = name.split(".") as [string, string | undefined];
    required[kind] = { ...required[kind], ...(mode === undefined ? {} : { [mode]: mode === "listChanged" || {} }) };
  }
  return required;
}

/**
 * The order of capability bits in a sealed session id. Ids outlive deploys, so entries are only ever added at the end.
 * A session does not store details of a capability that have no bit, such as the members of `experimental`.
 */
const CAPABILITY_BITS: readonly ClientCapabilityName[] = [
  "sampling",
  "sampling.tools",
  "sampling.context",
  "elicitation",
  "elicitation.form",
  "elicitation.url",
  "roots",
  "roots.listChanged",
  "experimental",
];

/** Encodes capabilities as a number of at most 16 bits. */
export function encodeCapabilities(capabilities: ClientCapabilities): number {
  return CAPABILITY_BITS.reduce((bits, name, index) => bits | (hasCapability(capabilities, name) ? 1 << index : 0), 0);
}

/** Decodes a number that {@link encodeCapabilities} returned. */
export function decodeCapabilities(bits: number): ClientCapabilities {
  return capabilityObject(CAPABILITY_BITS.filter((_, index) => (bits & (1 << index)) !== 0));
}
