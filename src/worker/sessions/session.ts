/**
 * One session in its Durable Object. The calls of its client run here, because a disconnect does not cancel a call in the
 * legacy protocol versions.
 *
 * Each request that reaches the object and each open stream count as use of the session.
 *
 * @module
 */
import { ClientAsker } from "../../core/ask/client-asker.ts";
import { PendingQuestions } from "../../core/ask/pending-questions.ts";
import { CancelledError } from "../../core/protocol/errors.ts";
import type { JSONRPCNotification, RequestId } from "../../core/protocol/jsonrpc.ts";
import { subscribeMethods } from "../../core/serve/subscriptions.ts";
import { type LegacyContext, runLegacy, takeAll } from "../../http/legacy.ts";
import type { Refusal } from "../../http/refusal.ts";
import { type Outcome, untilStreaming } from "../../http/respond.ts";
import type { PostOutcome, SessionPost } from "../../http/sessions.ts";
import { openSockets } from "../open-sockets.ts";
import type { DurableCall } from "../replay/durable-call.ts";
import type { DurableCalls } from "../replay/durable-calls.ts";
import { toRequestFacts } from "../services.ts";
import type { Attach } from "./bridge-messages.ts";
import type { StreamRow } from "./event-log.ts";
import type { HttpSseRun, HttpSseSession } from "./http-sse-session.ts";
import { NotificationHandlers } from "./notification-handlers.ts";
import { refuseRequests } from "./request-limits.ts";
import { type PostRun, type RunningPost, RunningPosts, requestIds, type Slot } from "./running-posts.ts";
import type { SessionHost } from "./session-host.ts";
import { ANONYMOUS } from "./session-id.ts";
import { type Caller, SessionState, type StoredState, toClient } from "./session-state.ts";
import { SessionStreams } from "./session-streams.ts";
import { WantedNotifications } from "./wanted-notifications.ts";

/** The outcome of a POST without requests, or whose results are sent on another stream. */
const TAKEN: PostOutcome = { answer: { text: undefined, status: 202 } };

export class Session implements HttpSseSession {
  readonly #host: SessionHost;
  readonly #number: number;
  readonly #state: SessionState;
  readonly streams: SessionStreams;
  readonly #notifications: WantedNotifications;
  readonly #posts = new RunningPosts();
  /** The open questions of the calls that run in memory. */
  readonly #questions = new PendingQuestions();
  readonly #handlers: NotificationHandlers;
  /** The calls that survive a restart of the object. Undefined without `replay()`. */
  readonly #durableCalls: DurableCalls | undefined;
  /** The last caller. */
  #caller!: Caller;
  /** Number of requests and socket events that currently use the session. */
  users = 0;
  readonly #subscribing = subscribeMethods({
    read: () => this.#state.get().uris ?? [],
    keep: (uris) => this.#notifications.want({ uris }, this.#caller),
  });

  constructor(host: SessionHost, session: number) {
    const { ctx, log, caps, resumeMs, bornAtMs } = host;
    this.#host = host;
    this.#number = session;
    this.#state = new SessionState(ctx.storage.kv, session);
    this.#durableCalls = host.services.replay?.calls({
      kv: ctx.storage.kv,
      log,
      session,
      wakeAt: (atMs) => void host.wakeAt(atMs),
      rerun: (durable) => ctx.waitUntil(this.#rerun(durable)),
      expire: (id) => this.#questions.expire(id),
    });
    const onError = (error: unknown) =>
      void host.services.onError(error, { correlationId: crypto.randomUUID(), method: "(session)" });
    const onBegin = () => void host.wakeAt(Date.now() + resumeMs).catch(onError);
    const tryResume = (row: StreamRow) => this.#durableCalls?.tryResume(row) ?? false;
    this.streams = new SessionStreams({ ctx, log, session, caps, bornAtMs, onError, onBegin, tryResume });
    this.#notifications = new WantedNotifications(host, this.#state, this.streams, this);
    this.#handlers = new NotificationHandlers(host, this.streams, this.#questions);
  }

  /** Returns whether the session is alive and belongs to the caller. Binds an anonymous session to its first principal. */
  async admit(caller: Caller, isStream = false): Promise<boolean> {
    if (!this.#isOf(caller)) return false;
    const nowMs = Date.now();
    const { boundTo, goodUntilMs = caller.expiresAtMs } = this.#state.get();
    const binds = caller.isOpenedAnonymously && caller.principalHash !== ANONYMOUS && boundTo === undefined;
    const { lengthMs, renewBelowMs, countsStreams } = this.#host.period;
    const renews = goodUntilMs - nowMs < renewBelowMs || (isStream && countsStreams);
    // The open streams may belong to another client, which must not receive the questions and results of the principal.
    if (binds) this.streams.endOwn();
    if (binds || renews) {
      const renewed = renews && { goodUntilMs: nowMs + lengthMs };
      await this.store({ ...renewed, ...(binds && { boundTo: caller.principalHash }) }, caller);
      // During the await, another request may have ended the session or bound it to another principal.
      return this.#isOf(caller);
    }
    return true;
  }

  #isOf({ isOpenedAnonymously, principalHash, expiresAtMs }: Caller): boolean {
    const { isEnded, boundTo = principalHash, goodUntilMs = expiresAtMs } = this.#state.get();
    return !isEnded && goodUntilMs > Date.now() && (!isOpenedAnonymously || boundTo === principalHash);
  }

  /** Serves a POST. Resolves to undefined if an HTTP+SSE client has no open stream for the response. */
  async post(caller: Caller, post: SessionPost): Promise<PostOutcome | undefined> {
    return post.form === "own" ? this.#host.services.deliver?.(this, caller, post) : this.runPost(caller, post);
  }

  async runPost(caller: Caller, post: SessionPost, httpSse?: HttpSseRun): Promise<PostOutcome> {
    const ids = requestIds(post.messages);
    const repeated = this.#posts.findRepeated(caller, post, ids);
    if (repeated) return this.#answer(repeated);
    const refusal = this.tooMany(ids.length);
    if (refusal) return { refusal };
    if (ids.length === 0) {
      const context = await this.#context(caller, { post });
      const refused = this.#handlers.refuse(post, context);
      if (refused) return { refusal: refused };
      if (takeAll(post.messages, context)) return TAKEN;
    }
    const stream = httpSse?.stream ?? this.streams.forCall({ ids, scopes: this.#scopesOf(post) });
    const durable = httpSse ? undefined : this.#durableCalls?.remember(caller, post, stream.id);
    return this.#answer(this.#startPost(caller, ids, { post, stream, durable, httpSse }));
  }

  /** Serves the requests of a POST. They are in flight before the first await, so that repeated requests are recognized. */
  #startPost(caller: Caller, ids: readonly RequestId[], run: PostRun): RunningPost {
    const { post, stream, durable, httpSse } = run;
    const slots = ids.map((id) => this.#posts.slot(id));
    const context = this.#context(caller, run, [...slots]);
    const ready = httpSse ? context.then((given) => httpSse.adapt(given)) : context;
    const outcome = this.#run(caller, run, ready);
    const running: RunningPost = { post, stream, durable, by: caller.principalHash, ready, outcome };
    this.#posts.add(running);
    const over = (what?: Outcome) => {
      if (what) {
        running.over = what;
        if (stream.hasBegun || httpSse) this.#end(running);
      } else for (const slot of slots) slot.free();
      this.#posts.delete(running);
      if (durable) this.#durableCalls?.forget(stream.id);
      this.streams.settle(stream);
    };
    outcome.then(over, () => over());
    return running;
  }

  async #run(caller: Caller, { post, stream, durable }: PostRun, ready: Promise<LegacyContext>): Promise<Outcome> {
    const context = await ready;
    const { messages, isBatch, form } = post;
    if (durable) void stream.begun.then(() => this.#durableCalls?.begin(durable, context.registry));
    const run = runLegacy(messages, isBatch, context);
    const outcome = run((message) => {
      if (form === "json") return;
      this.#notifications.watch(message, caller);
      stream.write(JSON.stringify(message), !("id" in message));
    });
    return outcome;
  }

  get handshake(): StoredState["handshake"] {
    return this.#state.get().handshake;
  }

  get hasNotifications(): boolean {
    return this.#host.services.hasNotifications;
  }

  startNotifications(): Promise<void> {
    return this.streams.tell(this.#notifications.filter);
  }

  /** Keeps the object in memory until a run ends, except while the run waits for its client's answer to a question. */
  #holdRun({ durable, outcome }: RunningPost): void {
    if (durable) durable.begin((rest) => this.hold(Promise.race([outcome, rest])));
    else this.hold(outcome);
  }

  /** Keeps the object in memory until the work settles. */
  hold(work: Promise<unknown>): void {
    this.#host.ctx.waitUntil(work);
  }

  /** Ends the session permanently. Resolves to true once this is stored. */
  async end(caller: Caller): Promise<true> {
    const { uris = [], goodUntilMs } = this.#state.get();
    this.#state.put({ isEnded: true }, caller, { goodUntilMs });
    this.#durableCalls?.forgetAll();
    await this.#host.wakeAt(this.#goodUntil(caller));
    this.#posts.cancelAll(new Error("The session was ended."));
    this.streams.end();
    this.#host.ctx.waitUntil(this.#notifications.release(uris, caller));
    return true;
  }

  attach(caller: Caller, target: Attach["target"]): Response {
    // An HTTP+SSE client receives notifications only after its handshake, so that an unused stream does not call the hub.
    const isSilent = target.kind === "standalone" && target.isHttpSse;
    const filter = isSilent ? { lists: [], uris: [] } : this.#notifications.filter;
    return this.streams.attach(target, toClient(caller).rules, filter, caller.principal?.scopes);
  }

  received(socket: WebSocket, message: string): void {
    this.streams.received(socket, message);
  }

  /** Called when a socket has been closed. @param isGone Whether the client cannot return, which ends its session. */
  async closed(socket: WebSocket, isGone: boolean): Promise<void> {
    await this.streams.closed(socket, this.#notifications.filter, isGone);
    if (isGone && !this.#state.get().isEnded) await this.#forget();
  }

  /** Continues a call that a restart of the object has interrupted, or ends it with an error. */
  interrupt(row: StreamRow): void {
    if (!this.streams.isRunning(row.id) && !this.#durableCalls?.tryResume(row)) this.streams.interrupt(row);
  }

  /** Times out expired questions. @returns When the next question expires, in epoch milliseconds; Infinity if none does. */
  expireQuestions(nowMs: number): number {
    return this.#durableCalls?.expire(nowMs) ?? Infinity;
  }

  /** Runs an interrupted call again on its stream. */
  async #rerun(durable: DurableCall): Promise<void> {
    const { caller, post, stream: id } = durable;
    const ids = requestIds(post.messages);
    const stream = this.streams.forCall({ ids, scopes: this.#scopesOf(post) }, id);
    // First, because a call that cannot be counted does not run, and must not count as running.
    durable.rerun();
    stream.begin();
    const running = this.#startPost(caller, ids, { post, stream, durable });
    this.#holdRun(running);
    await running.ready;
  }

  /** Deletes the stored state of an expired session. A session with an open stream is renewed instead. */
  async expire(nowMs: number): Promise<void> {
    const { caller, isEnded } = this.#state.get();
    if (!caller || this.#goodUntil(caller) > nowMs) return;
    if (isEnded || !this.#isHeld) await this.#forget();
    else this.#state.put({ goodUntilMs: nowMs + this.#host.period.lengthMs }, caller);
  }

  /** When the session expires, in epoch milliseconds. Infinity if it has no stored state. */
  get goodUntilMs(): number {
    const { caller } = this.#state.get();
    return caller ? this.#goodUntil(caller) : Infinity;
  }

  /** Ends the streams of the session and deletes its stored state. */
  async #forget(): Promise<void> {
    const { caller, uris = [] } = this.#state.get();
    if (caller) await this.#notifications.release(uris, { ...caller, principal: undefined });
    this.streams.end();
    this.#state.delete();
  }

  /** Called when rows of the log have been deleted. */
  collected(): void {
    this.streams.forgetSizes();
  }

  get #isHeld(): boolean {
    return openSockets(this.#host.ctx, `n${this.#number}`).length > 0;
  }

  /** Whether the session can be removed from memory: it is not in use, has no open sockets, and its state is stored. */
  get isIdle(): boolean {
    const isUsed = this.users + this.#posts.size > 0 || this.#handlers.isRunning;
    // The number of sampling requests to the client is counted in memory as long as its session id is valid.
    const isCounting = this.#questions.isCounting && this.#isOf(this.#caller);
    return !isUsed && !isCounting && !this.#isHeld && !this.streams.isAwaited;
  }

  #goodUntil({ expiresAtMs }: Caller): number {
    return this.#state.get().goodUntilMs ?? expiresAtMs;
  }

  async store(state: StoredState, caller: Caller): Promise<void> {
    this.#state.put(state, caller);
    await this.#host.wakeAt(this.#goodUntil(caller));
  }

  // Calls

  /** Sends the response of a finished run. If it cannot be stored, sends an error, so that the client does not wait forever. */
  #end({ post, stream, over }: RunningPost): void {
    try {
      stream.end(over?.text);
    } catch (error) {
      this.streams.fail(stream, requestIds(post.messages), error);
    }
  }

  /** Returns the outcome of a POST: a JSON response, or the number of the stream that will carry the response. */
  async #answer(running: RunningPost): Promise<PostOutcome> {
    await running.ready;
    const { stream, post, outcome } = running;
    // The run is held only while it is pending, because waitUntil is expensive.
    const options = { form: post.form, limits: this.#host.services.limits };
    const finished = await untilStreaming(outcome, stream, options, () => this.#holdRun(running));
    if (finished) return { answer: finished };
    if (post.form === "own") {
      if (!running.over) stream.begin();
      return TAKEN;
    }
    stream.begin();
    // If the run finished before the stream began, the stream must be ended here.
    if (running.over) {
      this.#end(running);
      this.streams.settle(stream);
    }
    return { stream: stream.id };
  }

  /** Returns the refusal if this many additional requests cannot be served now, or undefined if they can. */
  tooMany(asked: number): Refusal | undefined {
    if (asked === 0) return undefined;
    return refuseRequests(this.#host, this.#posts.requests + this.streams.awaiting, asked, this.streams.isFull);
  }

  /** @param slots The slots of the POST's requests, in the same order. */
  async #context(
    caller: Caller,
    { post, stream, durable }: Partial<PostRun> & Pick<PostRun, "post">,
    slots: Slot[] = [],
  ): Promise<LegacyContext> {
    const { env, services } = this.#host;
    const { limits, onError, hasNotifications, hooks } = services;
    const client = toClient(caller);
    const { principal, endpoint } = caller;
    this.#caller = caller;
    const registry = await services.serverFor(post.request, env, principal);
    const methods = hasNotifications ? this.#subscribing : undefined;
    // Unique among all objects of the endpoint.
    const session = `${this.#host.ctx.id} ${this.#number}`;
    const context: LegacyContext = {
      registry,
      limits,
      onError,
      endpointHooks: hooks,
      form: post.form,
      env,
      execution: this.#host.ctx,
      http: post.request && toRequestFacts(post.request),
      principal,
      endpoint,
      client,
      session,
      // The handshake of HTTP+SSE does not declare tasks, so their methods are added only for other clients.
      methods: (stream?.disconnect && services.extend?.(methods, env, client, this)) ?? methods,
      logging: {
        level: this.#state.get().logLevel,
        set: (logLevel) => this.#notifications.setLevel(logLevel, caller),
      },
      questions: {
        asker: (emit) => new ClientAsker(this.#questions, { client, emit, limits, before: durable }),
        settle: (response) => this.#questions.settle(response) || this.#durableCalls?.answered(response),
      },
      recording: durable && this.#durableCalls?.recordingOf(durable),
      awaitElicitations: (ids) => this.#notifications.awaitElicitations(ids, caller),
      replay: services.replay?.rounds,
      once: services.once?.(env, session, durable?.stream),
      // Only clients of versions with priming events reconnect.
      disconnect: client.rules.primingEvent ? (retryMs) => stream?.disconnect?.(retryMs) : undefined,
      onHandling: (handled) => this.#handlers.count(handled),
      onNotification: (message) => {
        this.#cancel(message, caller);
        this.#handlers.take(registry, message, context);
      },
      cancellationOf: (id) => slots.shift() ?? this.#posts.slot(id),
    };
    return context;
  }

  /** Returns the scopes that the messages of a POST require. */
  #scopesOf({ messages }: SessionPost): readonly string[] {
    const known = messages.flatMap((parsed) => (parsed.kind === "request" ? [{ ...parsed.message }] : []));
    return this.#host.services.scopesOf?.(known) ?? [];
  }

  #cancel({ method, params }: JSONRPCNotification, { principal }: Caller): void {
    if (method !== "notifications/cancelled") return;
    const id = params?.requestId as RequestId;
    // A caller must not cancel calls that its token does not allow it to make.
    const isAllowed = (post: SessionPost) => this.#scopesOf(post).every((scope) => principal?.scopes?.includes(scope));
    if (!this.#posts.of(id).every(({ post }) => isAllowed(post))) return;
    const lost = this.#durableCalls?.cancelled(id, isAllowed) ?? [];
    // These calls are not running, so their streams are ended here, without a response.
    for (const number of lost) {
      const stream = this.streams.forCall({ ids: [id], scopes: [] }, number);
      stream.end(undefined);
      this.streams.settle(stream);
    }
    this.#posts.cancel(id, new CancelledError(params?.reason));
  }
}
