/**
 * The view's side of MCP Apps (extension io.modelcontextprotocol/ui, 2026-01-26): JSON-RPC with the host over postMessage.
 *
 * 1. The view sends `ui/initialize`, and the host returns its capabilities and its context (theme, size, language).
 * 2. The view sends `ui/notifications/initialized`. Then the host sends the arguments of the tool call, and its result.
 * 3. The view can call tools of its server, inform the model of what the user sees, and report its size.
 * 4. Before the host removes the view, it sends `ui/resource-teardown`.
 *
 * This file does not depend on what the view shows, so it can be used for any view.
 */
const PROTOCOL_VERSION = "2026-01-26";

type Members = Record<string, unknown>;

/** The result of a tool call, as in MCP. */
export interface ToolResult {
  readonly content?: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: Members;
  readonly isError?: boolean;
}

/** What the host reports about the surroundings of the view. All members are optional. */
export interface HostContext {
  readonly theme?: "light" | "dark";
  readonly styles?: {
    /** Values of CSS variables, such as `--color-background-primary`. */
    readonly variables?: Readonly<Record<string, string | undefined>>;
    readonly css?: { readonly fonts?: string };
  };
  readonly locale?: string;
  readonly [member: string]: unknown;
}

/** Handlers for the messages of the host. */
export interface ViewHandlers {
  /** The arguments of the tool call. While the model is still writing them, `isPartial` is true, and the last ones may be incomplete. */
  onToolInput?(args: Members, isPartial: boolean): void;
  onToolResult?(result: ToolResult): void;
  /** Called when the call was cancelled, so that there will be no result. */
  onToolCancelled?(reason: string | undefined): void;
  /** Called with the context at the beginning, and with the complete context after each change. */
  onContext?(context: HostContext): void;
  /** Called before the host removes the view. The host waits for the promise. */
  onTeardown?(): void | Promise<void>;
}

/** The connected host. Requests reject with an Error if the host refuses them. */
export interface Host {
  /** The capabilities of the host, for example `serverTools` and `updateModelContext`. Check them before you use a feature. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  callTool(name: string, args: Members): Promise<ToolResult>;
  /** Informs the model of what the user sees. Each text replaces the previous one. */
  updateModelContext(text: string): Promise<unknown>;
  /** Sends any other request, such as `ui/open-link` with a `url`. */
  request(method: string, params: Members): Promise<unknown>;
}

/** Connects to the host. Rejects if the host refuses. If the page is opened without a host, it refuses its own request. */
export async function connectHost(
  appInfo: { readonly name: string; readonly version: string },
  handlers: ViewHandlers,
): Promise<Host> {
  const host = window.parent;
  const pending = new Map<unknown, { resolve(result: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  let context: HostContext = {};

  // The host may have any origin. Only the host receives the message.
  const send = (message: Members) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const request = (method: string, params: Members): Promise<unknown> =>
    new Promise((resolve, reject) => {
      lastId += 1;
      pending.set(lastId, { resolve, reject });
      send({ id: lastId, method, params });
    });

  const changeContext = (change: HostContext) => {
    context = { ...context, ...change };
    handlers.onContext?.(context);
  };

  const notifications: Readonly<Record<string, (params: Members) => void>> = {
    "ui/notifications/tool-input": ({ arguments: args = {} }) => handlers.onToolInput?.(args as Members, false),
    "ui/notifications/tool-input-partial": ({ arguments: args = {} }) => handlers.onToolInput?.(args as Members, true),
    "ui/notifications/tool-result": (result) => handlers.onToolResult?.(result),
    "ui/notifications/tool-cancelled": ({ reason }) => handlers.onToolCancelled?.(reason as string | undefined),
    "ui/notifications/host-context-changed": changeContext,
  };
  const requests: Readonly<Record<string, () => unknown>> = {
    ping: () => ({}),
    "ui/resource-teardown": async () => {
      await handlers.onTeardown?.();
      return {};
    },
  };

  addEventListener("message", async ({ source, data }) => {
    // Other frames can send messages too. Only messages from the host are accepted.
    if (source !== host || data?.jsonrpc !== "2.0") return;
    const { id, method, params = {}, result, error } = data;
    if (method === undefined) {
      const asked = pending.get(id);
      pending.delete(id);
      if (error) asked?.reject(new Error(error.message));
      else asked?.resolve(result);
    } else if (id === undefined) {
      if (Object.hasOwn(notifications, method)) notifications[method]?.(params);
    } else if (Object.hasOwn(requests, method)) {
      send({ id, result: await requests[method]?.() });
    } else {
      send({ id, error: { code: -32601, message: `This view has no method ${method}.` } });
    }
  });

  const initialized = (await request("ui/initialize", {
    appInfo,
    appCapabilities: { availableDisplayModes: ["inline"] },
    protocolVersion: PROTOCOL_VERSION,
  })) as { hostCapabilities?: Members; hostContext?: HostContext };
  changeContext(initialized.hostContext ?? {});
  send({ method: "ui/notifications/initialized", params: {} });

  const root = document.documentElement;
  const reportSize = () => {
    const { width, height } = root.getBoundingClientRect();
    send({
      method: "ui/notifications/size-changed",
      params: { width: Math.ceil(width), height: Math.ceil(height) },
    });
  };
  // Reports the size immediately, and after each change.
  new ResizeObserver(reportSize).observe(root);

  return {
    capabilities: initialized.hostCapabilities ?? {},
    callTool: (name, args) => request("tools/call", { name, arguments: args }) as Promise<ToolResult>,
    updateModelContext: (text) => request("ui/update-model-context", { content: [{ type: "text", text }] }),
    request,
  };
}

/** Applies the host's theme to the page: light or dark, colors and fonts. */
export function applyTheme({ theme, styles }: HostContext): void {
  const { style } = document.documentElement;
  if (theme) style.colorScheme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (value && name.startsWith("--")) style.setProperty(name, value);
  }
  const fonts = styles?.css?.fonts;
  if (fonts && !document.getElementById("host-fonts")) {
    document.head.append(Object.assign(document.createElement("style"), { id: "host-fonts", textContent: fonts }));
  }
}
