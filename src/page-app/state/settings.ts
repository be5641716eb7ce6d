/**
 * The user's settings: the protocol version, the client capabilities, the roots, the log level and a header.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { LoggingLevel, Root } from "../../client/index.ts";
import { SPOKEN_VERSIONS, type SpokenVersion } from "../../core/protocol/spoken-versions.ts";

/** The capabilities that the client declares. */
export interface Capabilities {
  readonly form: boolean;
  readonly url: boolean;
  readonly sampling: boolean;
  readonly roots: boolean;
  readonly tasks: boolean;
  readonly views: boolean;
}

/** The settings of the connection. */
export interface Settings {
  /** A protocol version, or "" for the newest version that the server supports. */
  readonly version: string;
  readonly can: Capabilities;
  readonly roots: readonly Root[];
  /** The minimum level of log messages, or "" to request none. */
  readonly logLevel: LoggingLevel | "";
  /** A header such as `Authorization: Bearer ...`. It is not stored. */
  readonly header: string;
}

export const DEFAULTS: Settings = {
  version: "",
  can: { form: true, url: true, sampling: true, roots: true, tasks: true, views: true },
  roots: [{ uri: "file:///home/ada/project", name: "project" }],
  logLevel: "info",
  header: "",
};

/** The protocol versions, newest first. */
export const VERSIONS: readonly SpokenVersion[] = SPOKEN_VERSIONS.toReversed();

export const LEVELS: readonly LoggingLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

const KEY = "mcp-edge-page";

export const settings = signal<Settings>(load());

/** Changes settings, and stores them in the browser, apart from the header, which may be a secret. */
export function change(changed: Partial<Settings>): void {
  settings.value = { ...settings.value, ...changed };
  const { header: _, ...stored } = settings.value;
  try {
    localStorage.setItem(KEY, JSON.stringify(stored));
  } catch {
    // Without storage, the settings are lost when the page is closed.
  }
}

function load(): Settings {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>;
    return { ...DEFAULTS, ...stored, can: { ...DEFAULTS.can, ...stored.can } };
  } catch {
    return DEFAULTS;
  }
}
