/**
 * The connection to the endpoint: one client of `mcp-edge/client`, which sends all requests of the page.
 *
 * @module
 */
import { signal } from "@preact/signals";
import { type Client, type ClientOptions, connect, visitPages } from "../../client/index.ts";
import { clientTasks } from "../../client/tasks/index.ts";
import type { RecorderInfo } from "../../recorder/api.ts";
import { addLog, messageOf } from "./calls.ts";
import { askForm, askSampling, askUrl } from "./questions.ts";
import { type Settings, settings } from "./settings.ts";
import { addTask } from "./tasks.ts";

/** The client name of the page, by which the timeline distinguishes its calls from calls of other clients. */
export const CLIENT_NAME = "mcp-edge page";

/** The state of the connection. */
export type Status =
  | { readonly is: "connecting" }
  | { readonly is: "connected"; readonly client: Client }
  | { readonly is: "failed"; readonly message: string };

export const status = signal<Status>({ is: "connecting" });
/** Information about the recorder and the endpoint. */
export const info = signal<RecorderInfo | undefined>(undefined);

/** The functions that are called when the server reports a change. */
export interface Listeners {
  onTools(): void;
  onPrompts(): void;
  onResources(): void;
  onUpdate(uri: string): void;
}

let listeners: Listeners | undefined;
let attempt = 0;

export function listen(to: Listeners): void {
  listeners = to;
}

/** Returns the client. @throws {Error} if there is no connection. */
export function connected(): Client {
  const { value } = status;
  if (value.is !== "connected") throw new Error("There is no connection to the server.");
  return value.client;
}

/** The number of retries after a failure. A restarting server is available again within seconds. */
const RETRIES = 5;
const RETRY_MS = 2_000;

/** Closes the connection, if there is one, and connects with the current settings. */
export async function reconnect(retries: number = RETRIES): Promise<void> {
  attempt += 1;
  const own = attempt;
  const { value: before } = status;
  status.value = { is: "connecting" };
  if (before.is === "connected") before.client.close().catch(() => undefined);
  try {
    const path = info.value?.endpoint.path ?? "/mcp";
    const client = await connect(new URL(path, location.origin), optionsOf(settings.value));
    if (own !== attempt) return void client.close();
    status.value = { is: "connected", client };
    const { logLevel } = settings.value;
    if (logLevel && client.server.capabilities.logging) await client.setLevel(logLevel).catch(() => undefined);
  } catch (error) {
    if (own !== attempt) return;
    status.value = { is: "failed", message: messageOf(error) };
    if (retries > 0) setTimeout(() => own === attempt && void reconnect(retries - 1), RETRY_MS);
  }
}

/** Closes the connection while the page is in the back/forward cache, and reconnects when the page is shown again. */
export function pauseWithPage(): void {
  addEventListener("pagehide", () => {
    const { value } = status;
    if (value.is === "connected") value.client.close().catch(() => undefined);
  });
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) void reconnect();
  });
}

function optionsOf({ version, can, roots, header }: Settings): ClientOptions {
  const [name = "", ...value] = header.split(":");
  return {
    name: CLIENT_NAME,
    version: info.value?.version ?? "0",
    timeoutMs: 0,
    totalTimeoutMs: 0,
    onLog: addLog,
    onEvent: () => undefined,
    onToolsChanged: () => listeners?.onTools(),
    onPromptsChanged: () => listeners?.onPrompts(),
    onResourcesChanged: () => listeners?.onResources(),
    onResourceUpdated: (uri) => listeners?.onUpdate(uri),
    use: [visitPages(), ...(can.tasks ? [clientTasks({ onTask: addTask })] : [])],
    ...(version !== "" && { protocolVersions: [version] }),
    ...(value.length > 0 && { headers: { [name.trim()]: value.join(":").trim() } }),
    ...(can.form && { onElicit: askForm }),
    ...(can.url && { onElicitUrl: askUrl }),
    ...(can.sampling && { onSample: askSampling }),
    ...(can.roots && { roots }),
    ...(can.views && { capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [VIEW_TYPE] } } } }),
  };
}

/** The media type of MCP Apps views. */
export const VIEW_TYPE = "text/html;profile=mcp-app";
