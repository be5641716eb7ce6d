/** Listeners of both eras. */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { CAPABILITIES_KEY, isMembers, type Members, meta, request, standardHeaders } from "../http/messages.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { type LegacyClient, Reading } from "../worker/client.ts";

export const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";
export const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
export const ACCEPT = "application/json, text/event-stream";
export const TOOLS = "notifications/tools/list_changed";
export const PROMPTS = "notifications/prompts/list_changed";
export const RESOURCES = "notifications/resources/list_changed";
export const UPDATED = "notifications/resources/updated";

/** Everything that a filter can request, with the resources of the fixture. */
export const EVERYTHING: Members = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ["test://a", "test://b"],
};

/** The subjects that the fixture can publish, and their notifications in the same order. */
export const SUBJECTS = ["tools", "prompts", "resources", "test://a", "test://b"] as const;
export const NOTICES = [TOOLS, PROMPTS, RESOURCES, "test://a", "test://b"] as const;

/** An open stream of notifications. */
export class Listener {
  readonly status: number;
  readonly contentType: string;
  readonly reading: Reading;
  readonly #leave: AbortController;

  constructor(response: Response, leave: AbortController) {
    this.status = response.status;
    this.contentType = response.headers.get("content-type") ?? "";
    this.reading = new Reading(response);
    this.#leave = leave;
  }

  /** Opens `subscriptions/listen` and waits for the first message. */
  static async open(url: string, notifications: unknown, id: string | number = "listen"): Promise<Listener> {
    const leave = new AbortController();
    const response = await listen(url, notifications, id, leave.signal);
    const listener = new Listener(response, leave);
    await listener.reading.has("a first message", ({ messages }) => messages.length > 0);
    return listener;
  }

  /** Opens the GET stream of a legacy session. */
  static async ofSession(client: LegacyClient): Promise<Listener> {
    const leave = new AbortController();
    const headers = { accept: "text/event-stream", ...(client.headers as Record<string, string>) };
    return new Listener(await fetch(client.url, { headers, signal: leave.signal }), leave);
  }

  /** Messages so far, including the acknowledgement. */
  get messages(): readonly Members[] {
    return this.reading.messages;
  }

  /** Notifications after the acknowledgement: the method, or the URI of an update. */
  get notifications(): readonly string[] {
    return this.messages.filter(({ method }) => method !== ACKNOWLEDGED).map(nameOf);
  }

  /** The filter that was acknowledged. */
  get acknowledged(): unknown {
    const [first] = this.messages;
    return isMembers(first?.params) ? first.params.notifications : undefined;
  }

  hears(notification: string, times = 1): Promise<void> {
    return this.reading.has(`${notification}, ${times} times`, () => {
      return this.notifications.filter((each) => each === notification).length >= times;
    });
  }

  /** Disconnects as a client does that closes its connection. */
  leave(): void {
    this.#leave.abort();
  }
}

/** Sends `subscriptions/listen`. */
export function listen(
  url: string,
  notifications: unknown,
  id: string | number,
  signal?: AbortSignal,
  more: Members = {},
): Promise<Response> {
  const _meta = meta({ [CAPABILITIES_KEY]: {}, ...more });
  const message = request("subscriptions/listen", { _meta, notifications }, id);
  const headers = { "content-type": "application/json", accept: ACCEPT, ...standardHeaders(message) };
  const init = { method: "POST", headers: headers as Record<string, string>, body: JSON.stringify(message) };
  return fetch(url, signal ? { ...init, signal } : init);
}

export function nameOf({ method, params }: Members): string {
  return method === UPDATED && isMembers(params) ? String(params.uri) : String(method);
}

/** The subscription id of a message. */
export function subscriptionOf(message: Members): unknown {
  const holder = message.params ?? message.result;
  const _meta = isMembers(holder) ? holder._meta : undefined;
  return isMembers(_meta) ? _meta[SUBSCRIPTION_ID] : undefined;
}

/** Waits for new bytes on a stream. Everything sent before has then arrived. */
export async function hasBeatenAgain({ reading }: Listener): Promise<void> {
  const before = reading.comments.length;
  await reading.has("two more heartbeats", ({ comments }) => comments.length >= before + 2);
}

/** The fixture's Worker for one test file, with taps whose oracle must find no violation in any test. */
export interface ListenLab {
  readonly tap: HttpTap;
  /** The second server, which has only tools, with the same hub. */
  readonly toolsOnly: HttpTap;
  /** The second server without a hub. */
  readonly silent: HttpTap;
  /** The first server in another isolate. */
  readonly twin: HttpTap;
  /** Streams to close at the end of the test. */
  readonly listeners: Listener[];
  open(notifications: unknown, id?: string | number, url?: string): Promise<Listener>;
  /** Publishes through a route that is not part of MCP. */
  publish(subject: string): Promise<void>;
  /** Publishes all subjects, one after the other, until a listener that subscribed to all has received them. */
  publishAll(control: Listener): Promise<void>;
  /** URIs in the order in which the server's hooks saw them subscribed (+) and released (-). */
  watched(): Promise<string[]>;
  /** Fetches the text at a path of the Worker. */
  text(path: string): Promise<string>;
  /** Ends the hub: `forget` crashes it, `retire` closes its connections normally. */
  deed(what: "forget" | "retire"): Promise<void>;
}

export function listenLab(): ListenLab {
  let worker: Workerd;
  let [tap, toolsOnly, twin, silent]: HttpTap[] = [];
  const listeners: Listener[] = [];
  const started = (each: HttpTap | undefined): HttpTap => {
    if (each) return each;
    throw new Error("there is a tap only while a test runs");
  };
  const text = async (path: string) => (await fetch(`${worker.origin}${path}`)).text();
  const post = async (path: string): Promise<void> => {
    expect((await fetch(`${worker.origin}${path}`, { method: "POST" })).status).toBe(200);
  };

  beforeAll(async () => {
    worker = await Workerd.start({
      entry: "test/conformance/fixtures/listen.ts",
      objects: { MCP: "McpObject", TOOLS: "ToolsObject" },
      bindings: { MCP_KEYS: newKeys() },
      twin: true,
    });
  });
  afterAll(() => worker.stop());
  beforeEach(async () => {
    const oracle = new WireOracle();
    tap = await startHttpTap(`${worker.origin}/mcp`, { oracle });
    toolsOnly = await startHttpTap(`${worker.origin}/tools-only`, { oracle });
    silent = await startHttpTap(`${worker.origin}/silent`, { oracle });
    twin = await startHttpTap(`${worker.origin}/twin/mcp`, { oracle });
  });
  afterEach(async () => {
    for (const listener of listeners.splice(0)) listener.leave();
    await Promise.all([tap?.close(), toolsOnly?.close(), twin?.close(), silent?.close()]);
    tap?.oracle.expectClean();
  });

  return {
    get tap() {
      return started(tap);
    },
    get toolsOnly() {
      return started(toolsOnly);
    },
    get silent() {
      return started(silent);
    },
    get twin() {
      return started(twin);
    },
    listeners,
    open: async (notifications, id, url = started(tap).url) => {
      const listener = await Listener.open(url, notifications, id);
      listeners.push(listener);
      return listener;
    },
    publish: (subject) => post(`/publish?subject=${encodeURIComponent(subject)}`),
    publishAll: async (control) => {
      for (const [index, subject] of SUBJECTS.entries()) {
        await post(`/publish?subject=${encodeURIComponent(subject)}`);
        await control.hears(NOTICES[index] ?? "");
      }
    },
    watched: async () => JSON.parse(await text("/watched")) as string[],
    text,
    deed: (what) => post(`/hub/${what}`),
  };
}
