import { KitError } from "../../core/protocol/errors.ts";
import { findSpoken, type MissingMethod, SPOKEN_VERSIONS } from "../../core/protocol/spoken-versions.ts";
import { ClientError } from "../basics/errors.ts";
import type { MissingSupport } from "./missing-support.ts";

/** The replacements of the methods that some versions lack. */
const INSTEAD: Readonly<Record<MissingMethod, string>> = {
  initialize: "connect() has sent it",
  ping: "send server/discover",
  "logging/setLevel": "use client.setLevel()",
  "resources/subscribe": "use client.subscribe()",
  "resources/unsubscribe": "use client.unsubscribe()",
  "server/discover": "read client.server",
  "subscriptions/listen": "use client.subscribe()",
  "tasks/result": "tasks/get returns the result",
  "tasks/list": "tasks/get reads a task by its id",
  "tasks/update": "answer the requests that the server sends",
};

/** Returns the error for a request that the server does not support: `method-missing` or `capability-missing`. */
export function toUnsupportedError(method: string, version: string, { capability }: MissingSupport): ClientError {
  if (capability === undefined) {
    return new ClientError(
      "method-missing",
      `${method} does not exist in ${version}: ${INSTEAD[method as MissingMethod]}.`,
    );
  }
  return new ClientError("capability-missing", `The server has not declared "${capability}", which ${method} needs.`);
}

/** Returns the error for a request during which the server asks too often. */
export function tooManyRounds(method: string, rounds: number): ClientError {
  const text = `${method} asked more than ${rounds} times (roundsMax).`;
  return new ClientError("rounds-max", text, { mayHaveRun: true });
}

/** Returns the error for a client without a name or a version. */
export function nameMissing(): KitError {
  return new KitError("options-invalid", "connect(): name and version are required.");
}

/** Returns the error for protocol versions that are not a list, an empty list, or a list with an unknown version. */
export function versionsInvalid(names: readonly string[]): KitError {
  const unknown = Array.isArray(names) ? names.find((name) => !findSpoken(name)) : undefined;
  const nothing = Array.isArray(names) ? "is empty" : "is not a list";
  const problem = unknown === undefined ? nothing : `has the unknown version ${JSON.stringify(unknown)}`;
  const known = SPOKEN_VERSIONS.map(({ version }) => version).join(", ");
  return new KitError("options-invalid", `connect(): protocolVersions ${problem}. Use ${known}.`);
}

/** Returns the error for a URL that is not an HTTP URL. */
export function notHttp(target: string | URL): KitError {
  return new KitError("options-invalid", `connect(): ${target} does not begin with http(s)://.`);
}
