/**
 * A model of Durable Objects, of the links to them and of time, in which the code of the hub runs unchanged: `HubObject`,
 * `Placement`, `hubSource` and the sockets that reconnect. Only what the platform provides is modelled.
 *
 * Time is virtual. Each event takes its moment from a queue, so a model of a minute takes as long as its events take, and
 * the same seed gives the same run. While a model runs it replaces the globals `setTimeout`, `clearTimeout`, `Response`,
 * `WebSocketPair` and `Math.random`.
 */
import type {
  ChangeFilter,
  ChangeListener,
  ChangeNotification,
  ChangeSubscription,
} from "../../src/core/protocol/change-notifications.ts";
import { CLAIM_HEADER, type HubClaim, type ToHub } from "../../src/worker/hub/hub-messages.ts";
import { HubObject, type HubRpc } from "../../src/worker/hub/hub-object.ts";
import { hubSource } from "../../src/worker/hub/hub-source.ts";
import { Placement, type ShardLinks } from "../../src/worker/hub/placement.ts";
import { retryOnReset } from "../../src/worker/retry-on-reset.ts";
import { hubName } from "../../src/worker/roles.ts";
import { Clock, isInModel } from "./model-clock.ts";

/** What the platform costs in the model, in milliseconds. */
export interface ModelCosts {
  /** Returns the time that a request or message travels. Called once for each. */
  readonly hop: (random: () => number) => number;
  /** CPU of an object for a request or a received message. */
  readonly request: number;
  /** CPU of an object for each WebSocket message that it sends. */
  readonly send: number;
  /** CPU of an object for each call of another object. */
  readonly call: number;
  /** Time until a write is durable. Responses wait for it. */
  readonly write: number;
  /** CPU of a Worker for each message that it receives for a client. */
  readonly receive: number;
}

export interface ModelOptions extends ModelCosts {
  readonly seed: number;
  readonly streamsMax: number;
  readonly objectsMax: number;
  readonly charsMax?: number;
  /** The most streams of one principal. @default 64 */
  readonly ownerMax?: number;
}

/** What was billed, and what objects did. */
export interface ModelCounts {
  /** Requests to objects: for WebSockets, to grow, and to publish. */
  dials: number;
  grows: number;
  publishes: number;
  /** Messages from Workers to objects. 20 are billed as one request. */
  messages: number;
  rowsWritten: number;
  /** Milliseconds in which objects were busy or waited for other objects. Each object is billed for them. */
  activeMs: number;
  mostSockets: number;
}

const OPEN = 1;
const CLOSED = 3;

/** One side of a WebSocket between a Worker and an object. */
class ModelSocket {
  readonly model: HubModel;
  other!: ModelSocket;
  /** The computer that this side runs on. */
  host: Host | undefined;
  readyState = OPEN;
  tags: readonly string[] = [];
  attachment: string | undefined;
  #listeners: Map<string, ((event: object) => void)[]> | undefined;
  #isAccepted = false;
  /** What has arrived before the socket was accepted. */
  #kept: { readonly type: string; readonly event: object }[] | undefined;
  /** Messages arrive in the order in which they were sent. */
  #arrivesMs = 0;

  constructor(model: HubModel) {
    this.model = model;
  }

  /** Until then the platform keeps what arrives. */
  accept(): void {
    this.#isAccepted = true;
    for (const { type, event } of this.#kept ?? []) this.emit(type, event);
    this.#kept = undefined;
  }

  addEventListener(type: string, listener: (event: object) => void): void {
    this.#listeners ??= new Map();
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  send(text: string): void {
    if (this.readyState !== OPEN) throw new Error("The socket is closed.");
    this.host?.work(this.model.costs.send);
    this.#deliver(() => this.other.receive(text));
  }

  close(code = 1000): void {
    if (this.readyState !== OPEN) return;
    this.readyState = CLOSED;
    if (this.host instanceof ModelObject) this.host.sockets.delete(this);
    this.#deliver(() => this.other.lose(code));
  }

  serializeAttachment(value: unknown): void {
    this.attachment = JSON.stringify(value);
  }

  deserializeAttachment(): unknown {
    return this.attachment === undefined ? null : JSON.parse(this.attachment);
  }

  /** Called when a message arrives. What was sent to a lost socket is lost. */
  receive(text: string): void {
    if (this.readyState !== OPEN) return;
    if (this.host instanceof ModelObject) this.host.hear(this, text);
    else {
      this.host?.work(this.model.costs.receive);
      this.emit("message", { data: text });
    }
  }

  /** Called when the other side has closed or died. */
  lose(code: number): void {
    if (this.readyState !== OPEN) return;
    this.readyState = CLOSED;
    if (this.host instanceof ModelObject) this.host.sockets.delete(this);
    else this.emit("close", { code });
  }

  emit(type: string, event: object): void {
    if (this.#isAccepted) for (const listener of this.#listeners?.get(type) ?? []) listener(event);
    else {
      this.#kept ??= [];
      this.#kept.push({ type, event });
    }
  }

  #deliver(run: () => void): void {
    const { clock, costs } = this.model;
    const leavesMs = Math.max(clock.nowMs, this.host?.freeAtMs ?? 0);
    this.#arrivesMs = Math.max(this.#arrivesMs, leavesMs + costs.hop(clock.random));
    clock.at(this.#arrivesMs, run);
  }
}

/** Something that computes one thing after another. */
class Host {
  readonly model: HubModel;
  /** The moment at which it has done everything that it was given. */
  freeAtMs = 0;

  constructor(model: HubModel) {
    this.model = model;
  }

  /** Computes for some milliseconds after what it was given before. */
  work(ms: number): void {
    this.freeAtMs = Math.max(this.freeAtMs, this.model.clock.nowMs) + ms;
  }
}

/** An object whose memory can be lost, alone or with its sockets. */
class ModelObject extends Host {
  readonly name: string;
  readonly sockets = new Set<ModelSocket>();
  readonly #stored = new Map<string, unknown>();
  #role: HubObject | undefined;
  /** Requests that it is serving. */
  #calls = 0;
  /** Ends with the next reset. */
  #life = new AbortController();
  #activeUntilMs = 0;
  /** The moment at which all writes of this life are durable. */
  #durableAtMs = 0;

  constructor(model: HubModel, name: string) {
    super(model);
    this.name = name;
  }

  /** Loses memory and sockets, as a deploy or a crash does. Calls in progress fail, and writes that are not durable are lost. */
  reset(): void {
    this.#life.abort();
    this.#life = new AbortController();
    this.#role = undefined;
    this.cut();
  }

  /** Loses the sockets only. */
  cut(): void {
    for (const socket of this.sockets) socket.close(1006);
  }

  /** Loses memory only. Does nothing while the object has something to do. */
  hibernate(): void {
    if (this.#calls === 0) this.#role = undefined;
  }

  /** Runs one request from its arrival to the moment when the response leaves. Rejects when the object is reset meanwhile. */
  async serve<T>(run: (role: HubObject) => T | Promise<T>): Promise<T> {
    const { clock, costs } = this.model;
    const { signal } = this.#life;
    const { promise: lost, reject } = Promise.withResolvers<never>();
    const onReset = () => reject(Object.assign(new Error("reset"), { durableObjectReset: true }));
    signal.addEventListener("abort", onReset);
    this.#calls += 1;
    const arrivedMs = clock.nowMs;
    const done = (async () => {
      this.work(costs.request);
      const result = await run(this.#play());
      await clock.until(Math.max(this.freeAtMs, this.#durableAtMs));
      return result;
    })();
    try {
      return await Promise.race([done, lost]);
    } finally {
      this.#calls -= 1;
      this.#wasActive(arrivedMs, clock.nowMs);
      signal.removeEventListener("abort", onReset);
    }
  }

  /** Handles a message on a socket. */
  hear(socket: ModelSocket, text: string): void {
    this.model.counts.messages += 1;
    this.work(this.model.costs.request);
    void this.#play().webSocketMessage(socket as unknown as WebSocket, text);
    this.#wasActive(this.model.clock.nowMs, this.freeAtMs);
  }

  /** Counts a time in which it was active. Times that overlap count once. */
  #wasActive(fromMs: number, toMs: number): void {
    this.model.counts.activeMs += Math.max(0, toMs - Math.max(fromMs, this.#activeUntilMs));
    this.#activeUntilMs = Math.max(this.#activeUntilMs, toMs);
  }

  #play(): HubObject {
    this.#role ??= this.#create();
    return this.#role;
  }

  #create(): HubObject {
    const { signal } = this.#life;
    const context = {
      storage: {
        kv: {
          get: (key: string) => this.#stored.get(key),
          put: (key: string, value: unknown) => this.#put(key, value, signal),
        },
      },
      getWebSockets: (tag?: string) =>
        signal.aborted ? [] : [...this.sockets].filter(({ tags }) => tag === undefined || tags.includes(tag)),
      getTags: (socket: ModelSocket) => socket.tags,
      acceptWebSocket: (socket: ModelSocket, tags: readonly string[]) => {
        socket.host = this;
        socket.tags = tags;
        this.sockets.add(socket);
        this.model.counts.mostSockets = Math.max(this.model.counts.mostSockets, this.sockets.size);
      },
    };
    return new HubObject(context as unknown as DurableObjectState, async (shard, object, notifications) => {
      // The code of an instance that was reset no longer runs.
      if (signal.aborted) return new Promise<never>(() => undefined);
      this.work(this.model.costs.call);
      await this.model.clock.until(this.freeAtMs);
      return this.model.call(shard, object, "publish", notifications);
    });
  }

  /** A reset takes away what is not durable yet. */
  #put(key: string, value: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const before = this.#stored.get(key);
    const { clock, costs, counts } = this.model;
    counts.rowsWritten += 1;
    this.#stored.set(key, value);
    this.#durableAtMs = clock.nowMs + costs.write;
    const lose = () => void this.#stored.set(key, before);
    signal.addEventListener("abort", lose);
    clock.at(this.#durableAtMs, () => signal.removeEventListener("abort", lose));
  }
}

/** The response of an object to a request for a WebSocket. Node's own cannot have status 101. */
class ModelResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly webSocket: ModelSocket | undefined;
  /** Called when the text is read or cancelled. */
  onRead: () => void = () => undefined;
  readonly body = { cancel: async () => this.onRead() };
  readonly #text: string | null;

  constructor(text: string | null, init: { status: number; headers?: HeadersInit; webSocket?: ModelSocket }) {
    this.#text = text;
    this.status = init.status;
    this.headers = new Headers(init.headers);
    this.webSocket = init.webSocket;
  }

  async text(): Promise<string> {
    this.onRead();
    return this.#text ?? "";
  }
}

const real = globalThis.Response;

/** Node's `Response` with one difference: a model that constructs one gets a response of the model. */
function withModelResponses(): unknown {
  return new Proxy(real, {
    construct: (target, args, newTarget) =>
      isInModel()
        ? new ModelResponse(...(args as ConstructorParameters<typeof ModelResponse>))
        : Reflect.construct(target, args, newTarget),
    get: (target, name) =>
      name === Symbol.hasInstance
        ? (value: unknown) => value instanceof ModelResponse || value instanceof real
        : Reflect.get(target, name),
  });
}

/** One isolate of the Worker. It publishes, and holds the streams of clients. */
export class ModelIsolate extends Host {
  readonly #placement: Placement;

  constructor(model: HubModel) {
    super(model);
    this.#placement = new Placement(model.options.objectsMax);
  }

  /** Opens a stream as `hub()` does. @param owner The hash of a principal. */
  open(filter: ChangeFilter, listener: ChangeListener, owner?: string): Promise<ChangeSubscription> {
    const claim = this.#claim(owner);
    const source = hubSource(async () => (shard) => this.#placement.connector(claim, this.#links(shard, claim)), 1);
    return source.open(filter, listener, { principal: undefined, size: claim.size });
  }

  /** Opens a stream that takes little memory, since it never reconnects and does not read its messages. */
  async listen(filter: ChangeFilter, onMessage: (atMs: number) => void): Promise<void> {
    const claim = this.#claim(undefined);
    const response = await this.#placement.connector(claim, this.#links(0, claim))();
    const socket = response.webSocket;
    if (!socket) throw new Error(await response.text());
    // The first message says that the filter is in effect.
    const { promise, resolve } = Promise.withResolvers<void>();
    let hears = () => {
      hears = () => onMessage(this.freeAtMs);
      resolve();
    };
    socket.addEventListener("message", () => hears());
    socket.accept();
    socket.send(JSON.stringify({ asks: 1, filter } satisfies ToHub));
    return promise;
  }

  #claim(owner: string | undefined): HubClaim {
    const { streamsMax, charsMax = 2 ** 25, ownerMax = 64 } = this.model.options;
    return { ownerMax, size: 100, streamsMax, charsMax, owner };
  }

  #links(shard: number, claim: HubClaim): ShardLinks {
    const { model } = this;
    return {
      dial: (object) => retryOnReset(() => model.dial(this, shard, object, claim)),
      grow: (seen) => retryOnReset(() => model.call(shard, 0, "grow", shard, seen, model.options.objectsMax)),
    };
  }

  /** Publishes as `hub()` does. Rejects when streams may have missed it. */
  async publish(notifications: readonly ChangeNotification[]): Promise<void> {
    const texts = notifications.map((notification) => JSON.stringify(notification));
    const failed = await retryOnReset(() => this.model.call(0, 0, "publish", texts));
    if (failed) throw new Error(`Streams that missed a notification: ${failed}`);
  }
}

export class HubModel {
  readonly options: ModelOptions;
  readonly costs: ModelCosts;
  readonly clock: Clock;
  readonly counts: ModelCounts = {
    dials: 0,
    grows: 0,
    publishes: 0,
    messages: 0,
    rowsWritten: 0,
    activeMs: 0,
    mostSockets: 0,
  };
  /** Refusals that no isolate has read. An object does not hibernate meanwhile. */
  readonly unread = new Set<object>();
  /** Every object that was ever called, by its name. */
  readonly objects = new Map<string, ModelObject>();

  constructor(options: ModelOptions) {
    this.options = options;
    this.costs = options;
    this.clock = new Clock(options.seed);
  }

  /** Runs a scenario until nothing is left to happen. The globals are replaced meanwhile. */
  async run(scenario: () => void): Promise<void> {
    const newSocket = () => new ModelSocket(this);
    class ModelPair {
      readonly 0 = newSocket();
      readonly 1 = newSocket();

      constructor() {
        this[0].other = this[1];
        this[1].other = this[0];
      }
    }
    const before = {
      Response: real,
      WebSocketPair: Reflect.get(globalThis, "WebSocketPair") as unknown,
    };
    Object.assign(globalThis, { Response: withModelResponses(), WebSocketPair: ModelPair });
    try {
      await this.clock.run(scenario);
    } finally {
      Object.assign(globalThis, before);
    }
  }

  object(shard: number, object: number): ModelObject {
    const name = hubName(shard, object);
    let found = this.objects.get(name);
    if (!found) {
      found = new ModelObject(this, name);
      this.objects.set(name, found);
    }
    return found;
  }

  /** Calls a method of an object. */
  async call<K extends keyof HubRpc>(
    shard: number,
    object: number,
    method: K,
    ...args: Parameters<HubRpc[K]>
  ): Promise<number> {
    await this.clock.pause(this.costs.hop(this.clock.random));
    this.counts[method === "grow" ? "grows" : "publishes"] += 1;
    const result = await this.object(shard, object).serve<number>((role) => {
      const run = role[method] as (...args: unknown[]) => number | Promise<number>;
      return run.apply(role, args);
    });
    await this.clock.pause(this.costs.hop(this.clock.random));
    return result;
  }

  /** Requests a WebSocket for an isolate. */
  async dial(isolate: ModelIsolate, shard: number, object: number, claim: HubClaim): Promise<Response> {
    await this.clock.pause(this.costs.hop(this.clock.random));
    this.counts.dials += 1;
    const headers = new Headers({ [CLAIM_HEADER]: JSON.stringify(claim) });
    const response = await this.object(shard, object).serve((role) => role.fetch({ headers } as Request));
    const socket = response.webSocket as unknown as ModelSocket | null;
    if (socket) socket.host = isolate;
    else this.#expectRead(response as unknown as ModelResponse);
    await this.clock.pause(this.costs.hop(this.clock.random));
    return response;
  }

  #expectRead(response: ModelResponse): void {
    this.unread.add(response);
    response.onRead = () => void this.unread.delete(response);
  }
}
