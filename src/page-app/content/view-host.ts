/**
 * The host side of MCP Apps: JSON-RPC with a view in a frame.
 *
 * @module
 * @see io.modelcontextprotocol/ui, 2026-01-26
 */
import { type Signal, signal } from "@preact/signals";
import type { CallToolResult, Tool } from "../../client/index.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { messageOf } from "../state/calls.ts";

const VERSION = "2026-01-26";

/** A link that a view asks to open. The user decides. */
export interface WantedLink {
  readonly url: string;
  decide(isOpened: boolean): void;
}

/** The functions that the page provides for a view. */
export interface ViewServices {
  callTool(name: string, args: JsonObject): Promise<JsonObject>;
  /** Sends a read-only request: a list or `resources/read`. */
  request(method: string, params: JsonObject): Promise<JsonObject>;
}

/** The call that a view belongs to. */
export interface ViewCall {
  readonly tool: Tool;
  readonly args: JsonObject;
  readonly result: CallToolResult;
}

/** Matches the requests of a view that are forwarded to the server. */
const PASSED = /^(tools|prompts|resources)\/(list|templates\/list|read)$/;
/** The maximum number of lines of a view's activity log. */
const DONE_KEPT = 100;
/** The maximum height of a frame, in CSS pixels. */
const HEIGHT_MAX = 1_200;

export class ViewHost {
  readonly height: Signal<number> = signal(240);
  /** The activity log of the view, newest last. */
  readonly done: Signal<readonly string[]> = signal([]);
  /** The context that the view has sent for the model. */
  readonly context: Signal<unknown> = signal(undefined);
  readonly link: Signal<WantedLink | undefined> = signal(undefined);
  readonly #post: (message: JsonObject) => void;
  readonly #services: ViewServices;
  readonly #call: ViewCall;

  constructor(post: (message: JsonObject) => void, services: ViewServices, call: ViewCall) {
    this.#post = (message) => post({ jsonrpc: "2.0", ...message });
    this.#services = services;
    this.#call = call;
  }

  /** Handles a message from the view. */
  async receive(message: unknown): Promise<void> {
    if (!isObject(message) || typeof message.method !== "string") return;
    const { id, method } = message;
    const params = isObject(message.params) ? message.params : {};
    if (id === undefined) return this.#notified(method, params);
    try {
      this.#post({ id, result: await this.#answer(method, params) });
    } catch (error) {
      this.#post({ id, error: { code: -32603, message: messageOf(error) } });
    }
  }

  /** Notifies the view that its frame is about to be removed. */
  close(): void {
    this.#post({ id: "teardown", method: "ui/resource-teardown", params: {} });
  }

  #notified(method: string, params: JsonObject): void {
    const { args, result } = this.#call;
    if (method === "ui/notifications/initialized") {
      this.#post({ method: "ui/notifications/tool-input", params: { arguments: args } });
      this.#post({ method: "ui/notifications/tool-result", params: result });
    } else if (method === "ui/notifications/size-changed" && typeof params.height === "number") {
      this.height.value = Math.min(Math.max(params.height, 40), HEIGHT_MAX);
    } else if (method === "notifications/message") {
      this.#note(`logged ${JSON.stringify(params.data)}`);
    }
  }

  async #answer(method: string, params: JsonObject): Promise<JsonObject> {
    if (PASSED.test(method)) {
      this.#note(method);
      return this.#services.request(method, params);
    }
    switch (method) {
      case "ui/initialize":
        return this.#introduction();
      case "ping":
        return {};
      case "tools/call":
        this.#note(`called ${String(params.name)}`);
        return this.#services.callTool(String(params.name), isObject(params.arguments) ? params.arguments : {});
      case "ui/update-model-context":
        this.context.value = params.structuredContent ?? params.content;
        this.#note("updated the model context");
        return {};
      case "ui/message":
        this.#note(`sent a user message: ${JSON.stringify(params.content)}`);
        return {};
      case "ui/open-link":
        return { isError: !(await this.#askLink(String(params.url))) };
      case "ui/request-display-mode":
        return { mode: "inline" };
      default:
        throw new Error(`Method not found: ${method}.`);
    }
  }

  #askLink(url: string): Promise<boolean> {
    this.#note(`wants to open ${url}`);
    return new Promise((resolve) => {
      this.link.value?.decide(false);
      const decide = (isOpened: boolean) => {
        this.link.value = undefined;
        resolve(isOpened);
      };
      this.link.value = { url, decide };
    });
  }

  #note(text: string): void {
    this.done.value = [...this.done.value, text].slice(-DONE_KEPT);
  }

  #introduction(): JsonObject {
    return {
      protocolVersion: VERSION,
      hostInfo: { name: "mcp-edge page", version: "1.0.0" },
      hostCapabilities: {
        openLinks: {},
        serverTools: {},
        serverResources: {},
        logging: {},
        updateModelContext: { text: {}, structuredContent: {} },
        message: { text: {} },
      },
      hostContext: {
        theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
        toolInfo: { tool: this.#call.tool },
        displayMode: "inline",
        availableDisplayModes: ["inline"],
        locale: navigator.language,
        platform: "web",
      },
    };
  }
}
