import { KitError } from "../../core/protocol/errors.ts";
import { ClientError } from "../basics/errors.ts";
import type { MissingSupport } from "./missing-support.ts";

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
export function unsupported(method: string, version: string, { capability }: MissingSupport): ClientError {
  if (capability === undefined) {
    return new ClientError("method-missing", `${method} does not exist in ${version}: ${INSTEAD[method]}.`);
  }
  return new ClientError("capability-missing", `The server has not declared "${capability}", which ${method} needs.`);
}

/** The error for a request whose questions do not end. */
export function tooManyRounds(method: string, rounds: number): ClientError {
  const text = `${method} asked more than ${rounds} times (roundsMax).`;
  return new ClientError("rounds-max", text, { mayHaveRun: true });
}

/** The error for a client without a name or version. */
export function unnamed(): KitError {
  return new KitError("options-invalid", "connect(): name and version are required.");
}

/** The error for an address that is not one of HTTP. */
export function noHttp(target: string | URL): KitError {
  return new KitError("options-invalid", `connect(): ${target} does not begin with http(s)://.`);
}
