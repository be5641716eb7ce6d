/**
 * The choices of the person: the protocol version, what the client can do, and what it shows the server.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { LoggingLevel, Root } from "../../client/index.ts";
import { SPOKEN_VERSIONS, type SpokenVersion } from "../../core/protocol/spoken-versions.ts";

/** What the client declares. */
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
  /** One protocol version, or "" for the newest that the server speaks. */
  readonly version: string;
  readonly can: Capabilities;
  readonly roots: readonly Root[];
  /** The level from which on the server sends log messages; "" asks for none. */
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

/** Replaces settings, and stores them for the next time, except for the header, which may be a secret. */
export function change(changed: Partial<Settings>): void {
  settings.value = { ...settings.value, ...changed };
  const { header: _, ...stored } = settings.value;
  try {
    localStorage.setItem(KEY, JSON.stringify(stored));
  } catch {
    // Without storage, the settings last as long as the page.
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
