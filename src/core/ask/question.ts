/**
 * One thing a server may ask a client, and what the client must have declared for it.
 *
 * @module
 */
import type { ClientCapabilityName } from "../protocol/client-facts.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";

/** One request to a client, by method and params: the value of an entry of `inputRequests`. */
export interface Question {
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  readonly params?: JsonObject;
}

/** The capabilities a question needs. */
export function capabilitiesFor({ method, params }: Question): readonly ClientCapabilityName[] {
  switch (method) {
    case "elicitation/create":
      return [params?.mode === "url" ? "elicitation.url" : "elicitation.form"];
    case "roots/list":
      return ["roots"];
    case "sampling/createMessage": {
      const needed: ClientCapabilityName[] = ["sampling"];
      if (params?.tools !== undefined || params?.toolChoice !== undefined) needed.push("sampling.tools");
      if (params?.includeContext !== undefined && params.includeContext !== "none") needed.push("sampling.context");
      return needed;
    }
  }
}
