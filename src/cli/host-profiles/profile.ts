/**
 * What is known about a host.
 *
 * @module
 */
import type { Sourced } from "./source.ts";

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

/** How a host connects to servers. A member without a value is not known. */
export interface HostProfile {
  readonly name: HostName;
  /** The human-readable name. */
  readonly title: string;
  /** Whether the host connects over the internet, and therefore cannot reach a private address. */
  readonly isCloud?: Sourced<boolean>;
  /** Whether the host can start local servers. */
  readonly startsProcesses: boolean;
  /** The newest protocol version that it offers. */
  readonly version?: Sourced<string>;
  /** The header `Accept` of its POST requests. */
  readonly accept?: Sourced<string>;
  /** Whether it opens a session for each call, or for each group of calls in a turn of the model. */
  readonly sessionPerCall?: Sourced<boolean>;
  /** The status codes that make it replace a session. */
  readonly replacesSessionOn?: Sourced<readonly number[]>;
  /** Whether it reads the tools again after `notifications/tools/list_changed`. */
  readonly readsChangedTools?: Sourced<boolean>;
  /** Whether it follows redirects of POST requests. */
  readonly followsRedirects?: Sourced<boolean>;
  /** Whether it connects again and again if GET is refused with a status other than 405. */
  readonly requiresStreamOr405?: Sourced<boolean>;
  /** Whether `resource` in the protected resource metadata must equal the URL that the user entered. */
  readonly requiresExactResource?: Sourced<boolean>;
  /** Whether it reads the protected resource metadata at the root of the server, in addition to the path of the endpoint. */
  readonly readsRootMetadata?: Sourced<boolean>;
  /** How it becomes a client of an authorization server: dynamic registration, or a client ID metadata document. */
  readonly registration?: Sourced<readonly ("dynamic" | "document")[]>;
  /** What it does after a 401, as the rest of a sentence. */
  readonly after401?: Sourced<string>;
  /** How long it waits for a server to start, in milliseconds, unless the user sets another time. */
  readonly startTimeoutMs?: Sourced<number>;
  /** How long it waits for the result of a call, in milliseconds, unless the user sets another time. */
  readonly callTimeoutMs?: Sourced<number>;
  /** Where a user finds what the host knows about a server, as sentences. */
  readonly logs?: readonly Sourced<string>[];
  /** Other things that the author of a server notices, as sentences. */
  readonly habits?: readonly Sourced<string>[];
}
