/**
 * Limits of hosts, and of the models' providers behind them, that the protocol does not have.
 *
 * @module
 */
import type { HostName } from "./profiles.ts";
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

/** The characters of the name of a tool. The provider refuses every request that contains another name, so no tool works. */
export const NAME_CHARACTERS: HostLimit & { readonly pattern: RegExp } = {
  pattern: /^[\w-]+$/,
  hosts: ["codex", "claude-code"],
  source: { url: "https://github.com/openai/codex/issues/8174", date: "2025-12-17" },
};

/** The number of tools. The list contains the tools of all servers of the host, so a server should stay well below. */
export const TOOL_COUNTS: readonly Maximum[] = [
  {
    max: 128,
    hosts: ["vscode"],
    source: { url: "https://github.com/microsoft/vscode/issues/255585", date: "2025-07-12" },
  },
  {
    max: 100,
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
