/**
 * The `subscriptions/listen` requests of a modern host.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import type { Client } from "../../client/index.ts";
import { invalidParams } from "../../core/protocol/errors.ts";
import { isObject, type JsonObject, type RequestId } from "../../core/protocol/jsonrpc.ts";
import type { Origin } from "./host-questions.ts";
import { notification, type Sink } from "./messages.ts";

const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";
/** The members of the filter, each with the notification that it requests and the capability that it requires. */
const LISTS = [
  ["toolsListChanged", "notifications/tools/list_changed", "tools"],
  ["promptsListChanged", "notifications/prompts/list_changed", "prompts"],
  ["resourcesListChanged", "notifications/resources/list_changed", "resources"],
] as const;
const UPDATED = "notifications/resources/updated";

interface Listen {
  readonly id: RequestId;
  readonly sink: Sink;
  readonly methods: ReadonlySet<string>;
  readonly uris: ReadonlySet<string>;
}

export class Listens {
  readonly #open = new Set<Listen>();

  /** Serves a `subscriptions/listen` request until the host cancels it. */
  async serve({ request, sink, signal }: Origin, client: Client): Promise<JsonObject> {
    const asked = request.params?.notifications;
    if (!isObject(asked)) {
      throw invalidParams("subscriptions/listen: params.notifications is not an object.", { field: "notifications" });
    }
    const { capabilities } = client.server;
    const lists = LISTS.filter(([member, , capability]) => {
      return (
        asked[member] === true && isObject(capabilities[capability]) && capabilities[capability].listChanged === true
      );
    });
    const wanted = Array.isArray(asked.resourceSubscriptions) ? asked.resourceSubscriptions.map(String) : [];
    const uris = await this.#subscribe(client, wanted);
    const { id } = request;
    const listen = { id, sink, methods: new Set(lists.map(([, method]) => method)), uris };
    const granted = Object.fromEntries(lists.map(([member]) => [member, true]));
    const notifications = { ...granted, ...(uris.size === 0 ? {} : { resourceSubscriptions: [...uris] }) };
    sink.send(
      notification("notifications/subscriptions/acknowledged", { _meta: { [SUBSCRIPTION_ID]: id }, notifications }),
    );
    this.#open.add(listen);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    this.#open.delete(listen);
    await this.#unsubscribe(client, uris);
    throw signal.reason;
  }

  /** Forwards a change notification to the requests that subscribed to it. Returns false for other notifications. */
  forward(method: string, params: JsonObject): boolean {
    if (method !== UPDATED && !LISTS.some(([, each]) => each === method)) return false;
    for (const { id, sink, methods, uris } of this.#open) {
      if (method === UPDATED ? !uris.has(String(params.uri)) : !methods.has(method)) continue;
      sink.send(notification(method, { ...params, _meta: { [SUBSCRIPTION_ID]: id } }));
    }
    return true;
  }

  /** Subscribes to resources. Returns those whose changes the server reports. */
  async #subscribe(client: Client, uris: readonly string[]): Promise<Set<string>> {
    const granted = new Set<string>();
    for (const uri of uris) {
      try {
        await client.subscribe(uri);
        granted.add(uri);
      } catch {
        // Left out of the acknowledgement, as for every resource whose changes a server does not report.
      }
    }
    return granted;
  }

  async #unsubscribe(client: Client, uris: ReadonlySet<string>): Promise<void> {
    const used = new Set([...this.#open].flatMap((each) => [...each.uris]));
    const unused = [...uris].filter((uri) => !used.has(uri));
    // This fails if the connection has ended, which ends the subscriptions as well.
    await Promise.allSettled(unused.map((uri) => client.unsubscribe(uri)));
  }
}
