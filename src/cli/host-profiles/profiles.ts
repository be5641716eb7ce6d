/**
 * How well-known hosts connect to servers. A fact without a published source is left out. The host is then assumed to follow the
 * specification, and findings that depend on the fact say that it is not known. `npm run docs:reference` writes the facts into the
 * pages of docs/hosts.
 *
 * @module
 */
import type { HostName, HostProfile } from "./profile.ts";
import { contradicted, sourced } from "./source.ts";

const READ = "2026-11-27";
const CLAUDE_AUTH = "https://claude.com/docs/connectors/building/authentication";
const CLAUDE_FAQ = "https://claude.com/docs/connectors/faq";
const CLAUDE_CONNECTORS =
  "https://support.claude.com/en/articles/11503834-building-custom-connectors-via-remote-mcp-servers";
const SESSION_FOR_EACH_CALL = "https://github.com/anthropics/claude-ai-mcp/issues/583";
const MCP_DEBUGGING = "https://modelcontextprotocol.io/docs/tools/debugging";
const CURSOR_GUIDE = "https://dev.to/skryvo/cursor-mcp-how-to-add-an-mcp-server-to-cursor-2ngc";
const VSCODE = "https://github.com/microsoft/vscode/blob/000d3828/src/vs/workbench/api/common/extHostMcp.ts";
const VSCODE_REQUESTS =
  "https://github.com/microsoft/vscode/blob/1418a96b/src/vs/workbench/contrib/mcp/common/mcpServerRequestHandler.ts";
const VSCODE_CONFIGURATION = "https://code.visualstudio.com/docs/agents/reference/mcp-configuration";
const VSCODE_SERVERS = "https://code.visualstudio.com/docs/agent-customization/mcp-servers";
const WINDSURF_DOCS = "https://docs.windsurf.com/windsurf/cascade/mcp";
const ZED = "https://github.com/zed-industries/zed/blob/07887f1f/crates/context_server/src/transport/http.rs";
const ZED_DOCS = "https://zed.dev/docs/ai/mcp";
const ZED_TIMEOUTS = "https://github.com/zed-industries/zed/pull/45378";
const GEMINI_CLIENT = "https://github.com/google-gemini/gemini-cli/blob/5411f113/packages/core/src/tools/mcp-client.ts";
const GEMINI_DOCS = "https://github.com/google-gemini/gemini-cli/blob/5411f113/docs/tools/mcp-server.md";
const GEMINI_COMMIT = "2026-08-21";
const CODEX_CLIENT = "https://github.com/openai/codex/blob/02beca9f/codex-rs/codex-mcp/src/rmcp_client.rs";
const CODEX_DOCS = "https://github.com/openai/codex/blob/0195ef05/docs/config.md";

/** The facts that all surfaces of Claude's connectors share. */
const CLAUDE = {
  isCloud: sourced(true, CLAUDE_AUTH, READ),
  requiresExactResource: sourced(true, "https://github.com/stormkit-io/stormkit-io/issues/363", "2026-07-14"),
  registration: sourced(["dynamic", "document"] as const, CLAUDE_AUTH, READ),
  callTimeoutMs: sourced(300_000, CLAUDE_FAQ, READ),
};

/** All profiles. */
export const PROFILES: readonly HostProfile[] = [
  {
    name: "claude",
    title: "Claude (web)",
    startsProcesses: false,
    ...CLAUDE,
    version: sourced("2026-07-28 (being introduced)", "https://github.com/pc-style/x-md/pull/22", "2026-09-08"),
    sessionPerCall: sourced(true, SESSION_FOR_EACH_CALL, "2026-08-12"),
    readsChangedTools: sourced(false, "https://github.com/anthropics/claude-ai-mcp/issues/45", "2026-09-02"),
    after401: sourced(
      "it shows a card to connect, and repeats the call after the sign-in. It does not do so if the refusal is the result of a tool.",
      "https://claude.com/docs/connectors/building/lazy-authentication",
      READ,
    ),
    habits: [
      sourced(
        "It keeps the tools of a URL for up to a day. Under another URL, such as one that ends in `?v=2`, they are read again.",
        "https://github.com/anthropics/claude-ai-mcp/issues/1044",
        "2026-09-16",
      ),
      sourced(
        "After the sign-in, the browser returns to `https://claude.ai/api/mcp/auth_callback`, in the future perhaps to `https://claude.com/api/mcp/auth_callback`.",
        CLAUDE_CONNECTORS,
        READ,
      ),
      sourced("Users cannot enter a token: a server has OAuth or no sign-in.", CLAUDE_AUTH, READ),
      sourced("It supports neither subscriptions to resources nor sampling.", CLAUDE_CONNECTORS, READ),
    ],
  },
  {
    name: "claude-desktop",
    title: "Claude Desktop",
    startsProcesses: true,
    ...CLAUDE,
    sessionPerCall: sourced(true, SESSION_FOR_EACH_CALL, "2026-07-08"),
    logs: [
      sourced("On macOS, the files `~/Library/Logs/Claude/mcp*.log`.", MCP_DEBUGGING, READ),
      sourced(
        "On Windows the folder `%APPDATA%\\Claude\\logs`, on Linux `~/.config/Claude/logs`.",
        "https://docs.pgedge.com/pgedge-postgres-mcp-server/development/guide/server_logs",
        READ,
      ),
    ],
    habits: [
      sourced(
        "It does not connect to remote servers that are in its file. They are connectors of the account, and their requests come from Anthropic's servers.",
        CLAUDE_CONNECTORS,
        READ,
      ),
      sourced(
        "It starts local servers in an undefined folder, and passes on only a few variables of the environment.",
        MCP_DEBUGGING,
        READ,
      ),
    ],
  },
  {
    name: "claude-code",
    title: "Claude Code",
    startsProcesses: true,
    registration: CLAUDE.registration,
    version: contradicted(
      sourced("2025-06-18", "https://canimcp.dev/client/claude-code", READ),
      "https://github.com/OpenDigitalProductFactory/opendigitalproductfactory/pull/705",
      "2026-05-17",
    ),
    replacesSessionOn: sourced([], "https://github.com/anthropics/claude-code/issues/62008", "2026-05-24"),
    readsChangedTools: contradicted(
      sourced(true, "https://canimcp.dev/client/claude-code", READ),
      "https://github.com/anthropics/claude-code/issues/79826",
      "2026-07-21",
    ),
    after401: sourced(
      "it opens the sign-in page in a browser when a tool is used, and later refreshes the token.",
      "https://github.com/anthropics/claude-code/blob/main/plugins/plugin-dev/skills/mcp-integration/references/authentication.md",
      READ,
    ),
    logs: [
      sourced(
        "With `claude --debug`, the files in `~/.claude/debug`.",
        "https://github.com/anthropics/claude-code/issues/16837",
        "2026-01-08",
      ),
    ],
    habits: [
      sourced(
        "`MCP_TIMEOUT` sets how long it waits for a server to start, at most 60 s.",
        "https://github.com/anthropics/claude-code/issues/16837",
        "2026-01-08",
      ),
      sourced("`MCP_TOOL_TIMEOUT` sets how long it waits for a call.", CLAUDE_FAQ, READ),
      sourced(
        "The model sees a tool as `mcp__<server>__<tool>`. A tool whose whole name is longer than 128 characters is left out.",
        "https://github.com/xsyetopz/claudetto/wiki/Claude-Code-MCP-Runtime",
        "2026-10-19",
      ),
      sourced(
        'A result of more than 50,000 characters is written to a file, which the model reads. `_meta: { "anthropic/maxResultSizeChars": ... }` of the tool raises this.',
        "https://qiita.com/akihidem/items/32e331a9cbe0abf3af11",
        "2026-10-05",
      ),
    ],
  },
  {
    name: "chatgpt",
    title: "ChatGPT",
    startsProcesses: false,
    isCloud: sourced(true, "https://github.com/kernel/kernel-mcp-server/pull/91", "2026-03-09"),
    readsRootMetadata: sourced(true, "https://github.com/kernel/kernel-mcp-server/pull/91", "2026-03-09"),
    registration: sourced(["dynamic"], "https://github.com/getsentry/sentry-mcp/issues/742", "2026-01-26"),
    version: sourced("2025-06-18", "https://canimcp.dev/client/chatgpt", READ),
    sessionPerCall: sourced(true, "https://github.com/openai/openai-apps-sdk-examples/issues/201", "2026-02-27"),
    readsChangedTools: sourced(false, "https://github.com/whisper-money/whisper-money/pull/962", "2026-09-09"),
    habits: [
      sourced(
        "It accepts Streamable HTTP and HTTP+SSE, with OAuth, without a sign-in, or with a sign-in for some tools only.",
        "https://developers.openai.com/api/docs/guides/developer-mode",
        READ,
      ),
      sourced(
        "It refuses a server whose tools have more than 16,000 tokens together.",
        "https://github.com/homeassistant-ai/ha-mcp/issues/614",
        "2026-02-13",
      ),
      sourced(
        "It refuses names of tools with more than 64 characters.",
        "https://github.com/PipedreamHQ/pipedream/issues/18696",
        "2025-10-09",
      ),
      sourced(
        "Even after a connector was removed and added again, it can show the old tools. A connector with another name has the new tools.",
        "https://github.com/homeassistant-ai/ha-mcp/pull/2017",
        "2026-07-23",
      ),
    ],
  },
  {
    name: "cursor",
    title: "Cursor",
    startsProcesses: true,
    requiresStreamOr405: sourced(true, "https://github.com/punkpeye/mcp-proxy/pull/62", "2026-04-25"),
    version: sourced("2025-06-18", "https://canimcp.dev/client/cursor-vscode", READ),
    readsChangedTools: contradicted(
      sourced(true, "https://canimcp.dev/client/cursor-vscode", READ),
      "https://github.com/cursor/cursor/issues/2980",
      "2025-04-05",
    ),
    after401: sourced(
      "it opens the sign-in page in a browser.",
      "https://developer.mittwald.de/docs/v2/mcp/getting-connected/cursor",
      READ,
    ),
    logs: [sourced("The output channel MCP Logs.", CURSOR_GUIDE, "2026-10-22")],
    habits: [
      sourced("It supports tools, prompts, resources, roots and elicitation.", CURSOR_GUIDE, "2026-10-22"),
      sourced(
        "After the sign-in, the browser returns to `http://localhost:8787/callback`, in older versions to `cursor://anysphere.cursor-mcp/oauth/callback`.",
        "https://glama.ai/mcp/servers/Echsecutor/idealo-proxy/tree",
        READ,
      ),
      sourced(
        "It requests all scopes in `scopes_supported`, unless the entry has `auth.scopes`.",
        "https://docs.pipeshub.com/mcp/cursor.md",
        READ,
      ),
    ],
  },
  {
    name: "vscode",
    title: "VS Code",
    startsProcesses: true,
    accept: sourced("text/event-stream, application/json", VSCODE, READ),
    replacesSessionOn: sourced([400, 404], VSCODE, READ),
    followsRedirects: sourced(true, VSCODE, READ),
    readsChangedTools: sourced(true, VSCODE_REQUESTS, READ),
    after401: sourced("it opens the sign-in page in a browser.", VSCODE_CONFIGURATION, READ),
    logs: [sourced("The command `MCP: List Servers`, then the server, then Show Output.", VSCODE_SERVERS, READ)],
    habits: [
      sourced("It tries Streamable HTTP first, and then HTTP+SSE.", VSCODE_CONFIGURATION, READ),
      sourced(
        "It stores the tools of a server. The command `MCP: Reset Cached Tools` removes them.",
        VSCODE_CONFIGURATION,
        READ,
      ),
      sourced("It starts a new or changed server only after the user has confirmed it.", VSCODE_SERVERS, READ),
    ],
  },
  {
    name: "windsurf",
    title: "Windsurf",
    startsProcesses: true,
    habits: [
      sourced("It supports stdio, Streamable HTTP and HTTP+SSE, each with OAuth.", WINDSURF_DOCS, READ),
      sourced(
        "It replaces variables of the environment in `command`, `args`, `env`, `serverUrl`, `url` and `headers`.",
        WINDSURF_DOCS,
        READ,
      ),
      sourced(
        "After a local HTTP server was restarted, users must press Refresh.",
        "https://hexdocs.pm/tidewave/windsurf.html",
        READ,
      ),
      sourced("Enterprise users must turn MCP on in the settings.", WINDSURF_DOCS, READ),
    ],
  },
  {
    name: "zed",
    title: "Zed",
    startsProcesses: true,
    accept: sourced("application/json, text/event-stream", ZED, READ),
    replacesSessionOn: sourced([404], ZED, READ),
    readsChangedTools: sourced(true, ZED_DOCS, READ),
    after401: sourced(
      "it refreshes the token and repeats the request once. If that fails, it asks the user to sign in.",
      ZED,
      READ,
    ),
    callTimeoutMs: sourced(60_000, ZED_TIMEOUTS, "2025-12-19"),
    logs: [
      sourced("The file `Zed.log`.", "https://github.com/zed-industries/zed/issues/43162", "2025-11-20"),
      sourced("On macOS, it is in `~/Library/Logs/Zed`.", "https://www.skills.sh/site/smithery.ai/zed-logs", READ),
    ],
    habits: [
      sourced("It supports tools and prompts, and neither sampling nor elicitation.", ZED_DOCS, READ),
      sourced(
        "`context_server_timeout`, or `timeout` of the server, sets the time limit of a call in seconds, at most 10 minutes.",
        ZED_TIMEOUTS,
        "2025-12-19",
      ),
    ],
  },
  {
    name: "gemini-cli",
    title: "Gemini CLI",
    startsProcesses: true,
    version: sourced(
      "2025-06-18 (of its SDK 1.23.0)",
      "https://github.com/google-gemini/gemini-cli/blob/5411f113/packages/core/package.json",
      GEMINI_COMMIT,
    ),
    readsChangedTools: contradicted(
      sourced(true, GEMINI_CLIENT, GEMINI_COMMIT),
      "https://github.com/google-gemini/gemini-cli/issues/19509",
      "2026-02-19",
    ),
    after401: sourced(
      "it finds the authorization server, registers there if that is possible, and opens a browser. `/mcp auth <server>` does this again.",
      GEMINI_DOCS,
      GEMINI_COMMIT,
    ),
    callTimeoutMs: sourced(600_000, GEMINI_CLIENT, GEMINI_COMMIT),
    logs: [
      sourced(
        "`/mcp` shows the state of each server, and `gemini --debug` the messages of the client. F12 opens them while it runs.",
        GEMINI_DOCS,
        GEMINI_COMMIT,
      ),
    ],
    habits: [
      sourced("It treats 404 to a GET request like 405.", GEMINI_CLIENT, GEMINI_COMMIT),
      sourced('`httpUrl` is deprecated in favour of `url` with `type: "http"`.', GEMINI_CLIENT, GEMINI_COMMIT),
      sourced(
        "It removes `$schema` and `additionalProperties` from schemas, and replaces characters other than letters, digits, `_`, `-`, `.` and `:` in names by `_`.",
        GEMINI_DOCS,
        GEMINI_COMMIT,
      ),
      sourced("The name of a server must not contain `_`.", GEMINI_DOCS, GEMINI_COMMIT),
      sourced(
        "After the sign-in, the browser returns to `http://localhost:<port>/oauth/callback` with a random port.",
        GEMINI_DOCS,
        GEMINI_COMMIT,
      ),
    ],
  },
  {
    name: "codex",
    title: "Codex",
    startsProcesses: true,
    version: sourced(
      "2025-06-18 (2026-07-28 if it is turned on)",
      "https://github.com/openai/codex/issues/37417",
      "2026-09-07",
    ),
    replacesSessionOn: sourced([404], "https://github.com/openai/codex/pull/13514", "2026-03-05"),
    readsChangedTools: sourced(false, "https://github.com/openai/codex/issues/37417", "2026-09-07"),
    after401: sourced("the user signs in with `codex mcp login <server>`.", CODEX_DOCS, READ),
    startTimeoutMs: contradicted(sourced(30_000, CODEX_CLIENT, READ), CODEX_DOCS, READ),
    callTimeoutMs: contradicted(sourced(300_000, CODEX_CLIENT, READ), CODEX_DOCS, READ),
    logs: [
      sourced(
        "The file `~/.codex/log/codex-tui.log`, with more or less in it as `RUST_LOG` says.",
        "https://github.com/openai/codex/blob/main/docs/advanced.md",
        READ,
      ),
    ],
    habits: [
      sourced(
        "It replaces characters in names of tools that its API does not accept.",
        "https://github.com/openai/codex/pull/8694",
        "2026-01-03",
      ),
      sourced(
        "It reads `.codex/config.toml` of a project only if the user trusts the project.",
        "https://docs.rs/tuff-adapter-codex/0.13.0/tuff_adapter_codex/constant.MCP_CONFIG_RELPATH.html",
        "2026-09-16",
      ),
      sourced(
        "It rejects `bearer_token` in the file. `bearer_token_env_var` names the variable that has the token.",
        "https://github.com/newtalaria/docs/blob/main/agents/mcp/codex.md",
        "2026-10-29",
      ),
    ],
  },
];

/** Returns the hosts of which a fact is not known, because it was not published. */
export function hostsWithout(fact: keyof HostProfile): HostName[] {
  return PROFILES.filter((each) => each[fact] === undefined).map(({ name }) => name);
}

/** Returns the human-readable name of a host. */
export function titleOf(name: HostName): string {
  return PROFILES.find((each) => each.name === name)?.title ?? name;
}
