/**
 * Limits of hosts, and of the models' providers behind them, that the protocol does not have.
 *
 * @module
 */
import type { HostName } from "./profile.ts";
import type { Source } from "./source.ts";

/** A limit of some hosts. */
export interface HostLimit {
  readonly hosts: readonly HostName[];
  readonly source: Source;
}

/** A maximum. */
export interface Maximum extends HostLimit {
  readonly max: number;
}

/** The input schema of a tool, in bytes of JSON. A tool with a larger schema is dropped without a message. */
export const SCHEMA_BYTES: Maximum = {
  max: 16_384,
  hosts: ["claude", "claude-desktop"],
  source: { url: "https://github.com/anthropics/claude-code/issues/77296", date: "2026-07-13" },
};

/** The description of a tool, in characters. The rest is cut. */
export const DESCRIPTION_CHARS: Maximum = {
  max: 2_048,
  hosts: ["claude-code"],
  source: { url: "https://github.com/anthropics/claude-code/issues/87650", date: "2026-08-18" },
};

/** The instructions of a server, in characters. The rest is cut. */
export const INSTRUCTIONS_CHARS: Maximum = {
  max: 2_048,
  hosts: ["claude-code"],
  source: { url: "https://github.com/nexu-io/open-design/issues/7098", date: "2026-08-18" },
};

/** The name of a tool together with the name of its server in the host, in characters. A tool with a longer name is dropped. */
export const COMBINED_NAME_CHARS: Maximum = {
  max: 60,
  hosts: ["cursor"],
  source: { url: "https://github.com/ComposioHQ/composio/issues/2788", date: "2026-02-27" },
};

/**
 * The name of a tool with the prefix `mcp_<server>_`, in characters. Longer names are cut in the middle, to the first and last
 * `kept` characters, and one of two tools with the same result is dropped.
 */
export const CUT_NAME_CHARS: Maximum & { readonly kept: number } = {
  max: 63,
  kept: 30,
  hosts: ["gemini-cli"],
  source: { url: "https://github.com/google-gemini/gemini-cli/issues/28970", date: "2026-08-23" },
};

/** The characters and the length of the name of a tool. */
export interface NamePattern extends HostLimit {
  readonly pattern: RegExp;
  /** What the pattern admits, for a sentence. */
  readonly admits: string;
  /** Whether one other name makes all tools unusable. Otherwise, only the tool is affected. */
  readonly affectsAll: boolean;
}

/**
 * The names that hosts accept. Codex replaces all other characters (https://github.com/openai/codex/pull/8694, 2026-01-03). Sources
 * about Claude Code contradict each other, so it is left out (https://github.com/microsoft/wassette/issues/56, 2025-08-03;
 * https://github.com/barryw/ImmichMCP/pull/8, 2026-05-07).
 */
export const NAME_PATTERNS: readonly NamePattern[] = [
  {
    pattern: /^[\w-]{1,64}$/,
    admits: "1 to 64 letters, digits, _ and -",
    affectsAll: true,
    hosts: ["claude", "claude-desktop"],
    // The same message: https://github.com/loomle/loomle/issues/168, https://github.com/l22-io/orchard-mcp/issues/14.
    source: { url: "https://github.com/evoila/meho/issues/2745", date: "2026-08-02" },
  },
  {
    // The message of the host does not admit -, but sources contradict each other: https://github.com/webflow/mcp-server/pull/13.
    pattern: /^[\w-]+$/,
    admits: "letters, digits and _",
    affectsAll: false,
    hosts: ["cursor"],
    source: { url: "https://github.com/webstudio-is/webstudio/issues/5960", date: "2026-07-30" },
  },
];

/** The number of tools. The list contains the tools of all servers of the host, so a server should stay well below the limit. */
export const TOOL_COUNTS: readonly (Maximum & { readonly effect: string })[] = [
  {
    max: 128,
    effect: "requests fail",
    hosts: ["vscode"],
    source: { url: "https://github.com/microsoft/vscode/issues/255585", date: "2025-07-12" },
  },
  {
    max: 100,
    effect: "tools are not added",
    hosts: ["windsurf"],
    source: { url: "https://www.desplega.ai/blog/deep-dive-windsurf-mcp-workflows", date: "2026-06-16" },
  },
];

/**
 * Keywords that the provider refuses at the top level of an input schema. The host drops such a tool without a message; until April
 * 2026, every request of the conversation failed (https://github.com/anthropics/claude-code/issues/45106).
 */
export const TOP_LEVEL_KEYWORDS: HostLimit & { readonly keywords: readonly string[] } = {
  keywords: ["oneOf", "allOf", "anyOf"],
  hosts: ["claude-code"],
  source: { url: "https://github.com/opentokenz/mcpx/issues/28", date: "2026-09-21" },
};

/** The result of a call, in characters of JSON. The rest is cut. Claude Code counts 25,000 tokens, of roughly 4 characters. */
export const RESULT_CHARS: readonly Maximum[] = [
  {
    max: 150_000,
    hosts: ["claude", "claude-desktop"],
    source: { url: "https://claude.com/docs/connectors/faq", date: "2026-11-27" },
  },
  {
    max: 100_000,
    hosts: ["claude-code"],
    source: { url: "https://claude.com/docs/connectors/faq", date: "2026-11-27" },
  },
];
