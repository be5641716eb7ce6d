import { KitError } from "../core/protocol/errors.ts";
import type { SpokenVersion, SpokenVersions } from "../core/protocol/spoken-versions.ts";
import { ClientError } from "./errors.ts";
import type { Lack } from "./supported.ts";

/** What to use instead of the methods that only one era has. */
const INSTEAD: Readonly<Record<string, string>> = {
  initialize: "connect() has sent it",
  ping: "send server/discover",
  "logging/setLevel": "use client.setLevel()",
  "resources/subscribe": "use client.subscribe()",
  "resources/unsubscribe": "use client.unsubscribe()",
  "server/discover": "read client.server",
  "subscriptions/listen": "use client.subscribe()",
};

/** Describes why a request is not sent: `method-missing` or `capability-missing`, with the replacement or the capability. */
export function unsupported(method: string, version: string, { capability }: Lack): ClientError {
  if (capability === undefined) {
    return new ClientError("method-missing", `${method} does not exist in ${version}: ${INSTEAD[method]}.`);
  }
  return new ClientError("capability-missing", `The server has not declared "${capability}", which ${method} needs.`);
}

/** The error for a server that offers none of the client's versions. */
export function noCommonVersion(versions: SpokenVersions, offered: readonly string[]): ClientError {
  const own = namesOf([...versions.modern, ...versions.legacy]);
  const text = `No common protocol version: the server offers ${offered.join(", ") || "none"}, this client speaks ${own}.`;
  return new ClientError("version-unsupported", text);
}

/** The error for a legacy server when the client allows modern versions only. */
export function notModern({ modern }: SpokenVersions, reason: string | undefined): ClientError {
  const text = `The server does not speak ${namesOf(modern)}, and protocolVersions allows no other: ${reason}`;
  return new ClientError("version-unsupported", text);
}

function namesOf(versions: readonly SpokenVersion[]): string {
  return versions.map(({ version }) => version).join(", ");
}

/** The error for a request whose questions do not end. */
export function tooManyRounds(method: string, rounds: number): ClientError {
  const text = `${method} asked more than ${rounds} times (roundsMax).`;
  return new ClientError("rounds-max", text, { mayHaveRun: true });
}

/** The error for a progress token that is in use. */
export function tokenInUse(token: string | number): KitError {
  return new KitError("options-invalid", `progressToken ${JSON.stringify(token)} belongs to another open request.`);
}

/** The error for `setRoots()` of a client that has not declared roots. */
export function noRoots(): KitError {
  return new KitError("options-invalid", "setRoots(): the client has no roots. Pass roots: [] to connect().");
}

/** The error for a client without a name or version. */
export function unnamed(): KitError {
  return new KitError("options-invalid", "connect(): name and version are required.");
}

/** The error for an address that is not one of HTTP. */
export function noHttp(target: string | URL): KitError {
  return new KitError("options-invalid", `connect(): ${target} does not begin with http(s)://.`);
}
