/**
 * Selects the scenarios of the official suite that can run against any server. The other scenarios use tools, prompts and resources
 * of the suite's own test server, such as `test_simple_text`.
 *
 * @module
 */

/** The requirements of each scenario: capabilities of the server, or `localhost` for an address on this machine. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  "server-initialize": [],
  "server-session-lifecycle": [],
  "server-stateless": [],
  ping: [],
  "logging-set-level": ["logging"],
  "tools-list": ["tools"],
  "resources-list": ["resources"],
  "prompts-list": ["prompts"],
  "sep-2164-resource-not-found": ["resources"],
  "dns-rebinding-protection": ["localhost"],
  "http-header-validation": ["tools"],
  caching: ["tools", "prompts", "resources"],
  "server-sse-multiple-streams": [],
  "input-required-result-unsupported-methods": ["tools"],
};

const FIXTURES = "requires tools, prompts or resources of the suite's own test server";

/** Returns why a scenario cannot run against a server, or undefined if it can. */
export function reasonNotToRun(
  name: string,
  { url, capabilities }: { readonly url: string; readonly capabilities: ReadonlySet<string> },
): string | undefined {
  const needs = Object.hasOwn(NEEDS, name) ? NEEDS[name] : undefined;
  if (needs === undefined) return FIXTURES;
  const missing = needs.find((need) =>
    need === "localhost" ? new URL(url).hostname !== "localhost" : !capabilities.has(need),
  );
  if (missing === undefined) return undefined;
  return missing === "localhost" ? "only for servers on this machine" : `the server has no ${missing}`;
}
