/**
 * The view's side of MCP Apps (extension io.modelcontextprotocol/ui, 2026-01-26): JSON-RPC with the host over postMessage.
 *
 * 1. The view sends `ui/initialize`, and the host answers with its capabilities and its context (theme, size, language).
 * 2. The view sends `ui/notifications/initialized`. Then the host sends the arguments of the tool call, and its result.
 * 3. The view may call tools of its server, tell the model what the user sees, and report its size.
 * 4. Before the host removes the view, it sends `ui/resource-teardown`.
 *
 * Nothing here knows what the view shows, so the file can be used for any view.
 */
const PROTOCOL_VERSION = "2026-01-26";

type Members = Record<string, unknown>;

/** The result of a tool call, as in MCP. */
export interface ToolResult {
  readonly content?: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: Members;
  readonly isError?: boolean;
}

/** What the host tells about the place of the view. Hosts may leave out each member. */
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

/** What the view does when the host sends something. */
export interface ViewHandlers {
  /** The arguments of the tool call. `isPartial` while the model is still writing them: the last ones may be cut. */
  onToolInput?(args: Members, isPartial: boolean): void;
  onToolResult?(result: ToolResult): void;
  /** The call was cancelled, so there will be no result. */
  onToolCancelled?(reason: string | undefined): void;
  /** The context at the beginning, and the complete context after each change. */
  onContext?(context: HostContext): void;
  /** The host is about to remove the view, and waits for this. */
  onTeardown?(): void | Promise<void>;
}

/** The host, after it has answered. Requests reject with an Error if the host refuses them. */
export interface Host {
  /** What the host can do, for example `serverTools` and `updateModelContext`. Ask before you use it. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  callTool(name: string, args: Members): Promise<ToolResult>;
  /** Tells the model what the user sees. Each text replaces the one before. */
  updateModelContext(text: string): Promise<unknown>;
  /** Any other request, such as `ui/open-link` with a `url`. */
  request(method: string, params: Members): Promise<unknown>;
}

/** Connects to the host. Rejects if the host refuses; in a page of its own, without a host, the page refuses itself. */
export async function connectHost(
  appInfo: { readonly name: string; readonly version: string },
  handlers: ViewHandlers,
): Promise<Host> {
  const host = window.parent;
  const pending = new Map<unknown, { resolve(result: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  let context: HostContext = {};

  // The host may be of any origin, and only the host gets the message.
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
    // Other frames can send messages too. Only those of the host count.
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

  const answer = (await request("ui/initialize", {
    appInfo,
    appCapabilities: { availableDisplayModes: ["inline"] },
    protocolVersion: PROTOCOL_VERSION,
  })) as { hostCapabilities?: Members; hostContext?: HostContext };
  changeContext(answer.hostContext ?? {});
  send({ method: "ui/notifications/initialized", params: {} });

  const root = document.documentElement;
  const reportSize = () => {
    const { width, height } = root.getBoundingClientRect();
    send({
      method: "ui/notifications/size-changed",
      params: { width: Math.ceil(width), height: Math.ceil(height) },
    });
  };
  // Calls at once, and after each change.
  new ResizeObserver(reportSize).observe(root);

  return {
    capabilities: answer.hostCapabilities ?? {},
    callTool: (name, args) => request("tools/call", { name, arguments: args }) as Promise<ToolResult>,
    updateModelContext: (text) => request("ui/update-model-context", { content: [{ type: "text", text }] }),
    request,
  };
}

/** Makes the page look like the host: light or dark, its colors and its fonts. */
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
