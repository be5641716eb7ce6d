/**
 * How a server introduces itself to its newest clients.
 *
 * @module
 */
import type { Registry } from "../../core/define/registry.ts";
import type { Implementation } from "../../core/protocol/client-facts.ts";
import { listNames, VERSIONS, type VersionRules } from "../../core/protocol/versions.ts";
import type { Address } from "./connect.ts";

/** The introduction of a server. */
export interface Description {
  readonly info: Implementation;
  readonly address: Address;
  /** The rules of the newest version that the server serves. */
  readonly rules: VersionRules;
  /** The versions that the server serves, oldest first. */
  readonly served: readonly string[];
}

/** Describes the server of a registry. @param url The URL of the endpoint that clients use. */
export function describe(registry: Registry, url: string): Description {
  const served = VERSIONS.filter(({ version }) => registry.versions.find(version));
  // Every server serves a version.
  const rules = served.at(-1) as VersionRules;
  // The registry has checked that the options have a name and a version.
  const info = registry.info(rules) as unknown as Implementation;
  const address = { url, name: info.name, version: rules.version, isModern: rules.era === "modern" };
  return { info, address, rules, served: listNames(served) };
}
