/**
 * How well-known hosts connect to servers. A fact without a published source is left out. The host is then assumed to follow the
 * specification, and findings that depend on the fact say that it is not known.
 *
 * @module
 */
import { type Sourced, sourced } from "./source.ts";

/** The names of the hosts on the command line, as in `mcp-edge connect`. */
export const HOST_NAMES = [
  "claude",
  "claude-desktop",
  "claude-code",
  "chatgpt",
  "cursor",
  "vscode",
  "windsurf",
  "zed",
  "gemini-cli",
  "codex",
] as const;

/** The name of a host on the command line. */
export type HostName = (typeof HOST_NAMES)[number];

/** How a host connects to servers. */
export interface HostProfile {
  readonly name: HostName;
  /** The human-readable name. */
  readonly title: string;
  /** Whether the host connects over the internet, and therefore cannot reach a private address. */
  readonly isCloud?: Sourced<boolean>;
  /** Whether the host can start local servers. */
  readonly startsProcesses: boolean;
  /** The header `Accept` of its POST requests. */
  readonly accept?: Sourced<string>;
  /** Whether it opens a session for each call. */
  readonly sessionPerCall?: Sourced<boolean>;
  /** The status codes that make it replace a session. */
  readonly replacesSessionOn?: Sourced<readonly number[]>;
  /** Whether it follows redirects of POST requests. */
  readonly followsRedirects?: Sourced<boolean>;
  /** Whether it reconnects again and again if GET is refused with a status other than 405. */
  readonly requiresStreamOr405?: Sourced<boolean>;
  /** Whether `resource` in the protected resource metadata must equal the URL that the user entered. */
  readonly requiresExactResource?: Sourced<boolean>;
  /** Whether it reads the protected resource metadata at the root of the server, in addition to the path of the endpoint. */
  readonly readsRootMetadata?: Sourced<boolean>;
  /** How it registers with an authorization server: dynamic registration, or a client ID metadata document. */
  readonly registration?: Sourced<readonly ("dynamic" | "document")[]>;
}

const CLAUDE_AUTH = "https://claude.com/docs/connectors/building/authentication";
const VSCODE = "https://github.com/microsoft/vscode/blob/000d3828/src/vs/workbench/api/common/extHostMcp.ts";
const ZED = "https://github.com/zed-industries/zed/blob/07887f1f/crates/context_server/src/transport/http.rs";
const READ = "2026-11-27";

/** The facts that all surfaces of Claude's connectors share. */
const CLAUDE = {
  isCloud: sourced(true, CLAUDE_AUTH, READ),
  requiresExactResource: sourced(true, "https://github.com/stormkit-io/stormkit-io/issues/363", "2026-07-14"),
  registration: sourced(["dynamic", "document"] as const, CLAUDE_AUTH, READ),
};

/** All profiles. */
export const PROFILES: readonly HostProfile[] = [
  {
    name: "claude",
    title: "Claude (web)",
    startsProcesses: false,
    ...CLAUDE,
    sessionPerCall: sourced(true, "https://github.com/anthropics/claude-ai-mcp/issues/583", "2026-08-12"),
  },
  { name: "claude-desktop", title: "Claude Desktop", startsProcesses: true, ...CLAUDE },
  {
    name: "claude-code",
    title: "Claude Code",
    startsProcesses: true,
    registration: CLAUDE.registration,
  },
  {
    name: "chatgpt",
    title: "ChatGPT",
    startsProcesses: false,
    isCloud: sourced(true, "https://github.com/kernel/kernel-mcp-server/pull/91", "2026-03-09"),
    readsRootMetadata: sourced(true, "https://github.com/kernel/kernel-mcp-server/pull/91", "2026-03-09"),
    registration: sourced(["dynamic"], "https://github.com/getsentry/sentry-mcp/issues/742", "2026-01-26"),
  },
  {
    name: "cursor",
    title: "Cursor",
    startsProcesses: true,
    requiresStreamOr405: sourced(true, "https://github.com/punkpeye/mcp-proxy/pull/62", "2026-04-25"),
  },
  {
    name: "vscode",
    title: "VS Code",
    startsProcesses: true,
    accept: sourced("text/event-stream, application/json", VSCODE, READ),
    replacesSessionOn: sourced([400, 404], VSCODE, READ),
    followsRedirects: sourced(true, VSCODE, READ),
  },
  { name: "windsurf", title: "Windsurf", startsProcesses: true },
  {
    name: "zed",
    title: "Zed",
    startsProcesses: true,
    accept: sourced("application/json, text/event-stream", ZED, READ),
    replacesSessionOn: sourced([404], ZED, READ),
  },
  { name: "gemini-cli", title: "Gemini CLI", startsProcesses: true },
  {
    name: "codex",
    title: "Codex",
    startsProcesses: true,
    replacesSessionOn: sourced([404], "https://github.com/openai/codex/pull/13514", "2026-03-05"),
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
