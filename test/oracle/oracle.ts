/**
 * Follows one conversation and checks every message against its protocol version. Versions may interleave: a modern
 * request names its version itself, everything else has the version that `initialize` negotiated or that the transport
 * names.
 */

import { type About, checkMessage, otherSide } from "./check.ts";
import {
  type Hint,
  initializeVersion,
  isId,
  isLegacy,
  keyOf,
  list,
  namedVersion,
  shorten,
  tokenOf,
  unique,
} from "./hints.ts";
import { isModern, MODERN, NEWEST_LEGACY, type Side } from "./methods.ts";
import { isJson, type Json } from "./spec.ts";

export interface Problem {
  readonly problem: string;
  readonly from: Side;
  readonly version: string;
  readonly message: unknown;
}

interface Asked {
  readonly from: Side;
  readonly method: string;
  readonly params: unknown;
  readonly versions: readonly string[];
  readonly scope: string;
  readonly session: string;
  answered: boolean;
}

const SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId";

export class WireOracle {
  readonly problems: Problem[] = [];
  /** Number of checked messages, counting members of batches. */
  messages = 0;
  /** False: client messages are tracked, not judged (for tests that send invalid messages on purpose). */
  readonly judgeClient: boolean;
  private readonly asked = new Map<string, Asked[]>();
  /** Versions negotiated by `initialize`, by session. */
  private readonly agreed = new Map<string, string>();
  /** Versions of the client's last request, by scope and by session. */
  private readonly spoken = new Map<string, readonly string[]>();
  /** By scope: client messages without a readable id, each of which allows one error without an id. */
  private readonly unreadable = new Map<string, number>();

  constructor(options: { readonly judgeClient?: boolean | undefined } = {}) {
    this.judgeClient = options.judgeClient ?? true;
  }

  /** The version that `initialize` negotiated in a session. */
  agreedVersion(session = ""): string | undefined {
    return this.agreed.get(session);
  }

  /** Observes one JSON value. An array is a batch. */
  observe(from: Side, message: unknown, hint: Hint = {}): void {
    if (Array.isArray(message)) this.batch(from, message, hint);
    else this.single(from, message, hint);
  }

  /**
   * Observes text that is not JSON. From a server it is a problem; a client's is answered with an error without an id.
   */
  observeUnreadable(from: Side, text: string, hint: Hint = {}): void {
    if (from === "client") this.countUnreadable(hint);
    if (this.judges(from, hint)) this.report("is not JSON", from, this.fallback(hint)[0] ?? NEWEST_LEGACY, text);
  }

  /** Adds a problem that only the transport can see. */
  report(problem: string, from: Side, version: string, message: unknown): void {
    this.problems.push({ problem, from, version, message });
  }

  /**
   * @throws {Error} with every problem and its message, and if nothing was observed, since that would prove nothing.
   */
  expectClean(): void {
    if (this.problems.length === 0) {
      if (this.messages === 0) throw new Error("the oracle saw no message, so it proves nothing");
      return;
    }
    const lines = this.problems.map(({ problem, from, version, message }) => {
      return `- ${from}, ${version}: ${problem}\n  ${shorten(message)}`;
    });
    throw new Error(
      `${this.problems.length} problem(s) in ${this.messages} message(s) on the wire:\n${lines.join("\n")}`,
    );
  }

  private batch(from: Side, members: readonly unknown[], hint: Hint): void {
    const seen = members.map((member) => this.versionsOf(from, member, hint)[0]);
    const versions = members.length === 0 ? this.fallback(hint) : seen;
    const wrong = versions.find((version) => version !== "2025-03-26");
    if (this.judges(from, hint)) {
      if (wrong !== undefined) this.report(`a batch does not exist in ${wrong}`, from, wrong, members);
      if (members.length === 0) this.report("the batch is empty", from, "2025-03-26", members);
      if (members.some((member) => isJson(member) && member.method === "initialize")) {
        this.report("initialize is not part of a batch", from, "2025-03-26", members);
      }
    }
    for (const member of members) {
      if (Array.isArray(member)) this.judge(from, member, ["2025-03-26"], {}, hint);
      else this.single(from, member, hint);
    }
  }

  private single(from: Side, message: unknown, hint: Hint): void {
    const versions = this.versionsOf(from, message, hint);
    if (!isJson(message) || !isId(message.id)) {
      const lacksId = isJson(message) && typeof message.method === "string" && !Object.hasOwn(message, "id");
      if (from === "client" && !lacksId) this.countUnreadable(hint);
    }
    if (!isJson(message) || typeof message.method === "string") {
      this.judge(from, message, versions, {}, hint);
      if (isJson(message) && isId(message.id)) this.remember(from, message, versions, hint);
      return;
    }
    this.response(from, message, versions, hint);
  }

  private response(from: Side, message: Json, versions: readonly string[], hint: Hint): void {
    if (!Object.hasOwn(message, "id")) {
      const unreadableId = hint.unreadableId === true || (from === "server" && this.spendUnreadable(hint));
      this.judge(from, message, versions, { unreadableId }, hint);
      return;
    }
    const asked = this.requestOf(from, message.id, hint);
    this.judge(from, message, versions, { requestMethod: asked?.method, requestParams: asked?.params }, hint);
    const [version = NEWEST_LEGACY] = versions;
    const judged = this.judges(from, hint);
    if (asked === undefined) {
      if (judged && isId(message.id)) this.report("answers no request that was seen", from, version, message);
      return;
    }
    if (judged && asked.answered && hint.replay !== true) {
      this.report("answers a request a second time", from, version, message);
    }
    asked.answered = true;
    if (asked.method === "initialize" && isJson(message.result)) this.agree(message.result, asked, hint);
  }

  /** Records the version in the response to `initialize` for the session. */
  private agree(result: Json, asked: Asked, hint: Hint): void {
    const version = result.protocolVersion;
    if (typeof version !== "string") return;
    if (!isLegacy(version)) this.report(`initialize agreed on ${version}`, "server", NEWEST_LEGACY, result);
    else this.agreed.set(hint.session ?? asked.session, version);
  }

  /** The versions against which a message may be checked, the most likely one first. */
  private versionsOf(from: Side, message: unknown, hint: Hint): readonly string[] {
    if (!isJson(message)) return this.fallback(hint);
    if (typeof message.method !== "string") return this.responseVersions(from, message, hint);
    if (from === "client") {
      const named = namedVersion(message);
      if (named !== undefined) return [named];
      if (message.method === "initialize") return [initializeVersion(message)];
      return this.fallback(hint);
    }
    if (hint.version !== undefined) return this.fallback(hint);
    const params = isJson(message.params) ? message.params : {};
    const meta = isJson(params._meta) ? params._meta : {};
    if (Object.hasOwn(meta, SUBSCRIPTION_KEY)) return MODERN;
    return this.correlated(message.method, params, hint)?.versions ?? this.openVersions(hint);
  }

  private responseVersions(from: Side, message: Json, hint: Hint): readonly string[] {
    const asked = this.requestOf(from, message.id, hint);
    if (asked === undefined) return this.fallback(hint);
    if (asked.method !== "initialize" || asked.versions.some(isModern)) return asked.versions;
    const agreed = isJson(message.result) ? message.result.protocolVersion : undefined;
    if (typeof agreed === "string" && isLegacy(agreed)) return [agreed];
    // An error for initialize may come from a server that took the request for a modern one because of its header.
    return isJson(message.result) ? asked.versions : unique([...asked.versions, ...list(hint.version)]);
  }

  /**
   * For a message that names no version: that of the transport, of this POST, of the handshake, or of the last request.
   */
  private fallback({ version, scope = "", session = "" }: Hint): readonly string[] {
    const named = list(version);
    if (named.length > 0) return named;
    const inScope = scope === "" ? undefined : this.spoken.get(`scope ${scope}`);
    if (inScope !== undefined) return inScope;
    const agreed = this.agreed.get(session);
    if (agreed !== undefined) return [agreed];
    return this.spoken.get(`session ${session}`) ?? [NEWEST_LEGACY];
  }

  /** The request that a server's notification belongs to. */
  private correlated(method: string, params: Json, hint: Hint): Asked | undefined {
    if (method === "notifications/cancelled") {
      return this.find("server", params.requestId, hint) ?? this.find("client", params.requestId, hint);
    }
    if (method !== "notifications/progress") return undefined;
    const token = params.progressToken;
    return this.everyAsked().findLast((asked) => asked.from === "client" && tokenOf(asked.params) === token);
  }

  /** A notification that belongs to no request has to match one of the versions in use. */
  private openVersions(hint: Hint): readonly string[] {
    const open = this.everyAsked().filter((asked) => !asked.answered && asked.from === "client");
    return unique([...this.fallback(hint), ...open.flatMap((asked) => asked.versions)]);
  }

  private judge(from: Side, message: unknown, versions: readonly string[], more: Partial<About>, hint: Hint): void {
    if (!this.judges(from, hint)) return;
    this.messages += 1;
    let first: { version: string; problems: string[] } | undefined;
    for (const version of versions) {
      const problems = checkMessage(message, { ...more, version, from });
      if (problems.length === 0) return;
      first ??= { version, problems };
    }
    for (const problem of first?.problems ?? []) this.report(problem, from, first?.version ?? "", message);
  }

  private judges(from: Side, hint: Hint): boolean {
    return from === "server" || (this.judgeClient && hint.deliberatelyBad !== true);
  }

  private remember(from: Side, message: Json, versions: readonly string[], hint: Hint): void {
    const { scope = "", session = "" } = hint;
    const asked = {
      from,
      method: `${message.method}`,
      params: message.params,
      versions,
      scope,
      session,
      answered: false,
    };
    if (from === "client") {
      this.spoken.set(`scope ${scope}`, versions);
      this.spoken.set(`session ${session}`, versions);
    }
    const key = keyOf(from, message.id);
    const known = this.asked.get(key) ?? [];
    if (from === "server" && hint.replay !== true && known.some((each) => each.session === session)) {
      this.report("a server uses an id a second time", from, versions[0] ?? NEWEST_LEGACY, message);
    }
    this.asked.set(key, [...known, asked]);
  }

  private requestOf(responder: Side, id: unknown, hint: Hint): Asked | undefined {
    return this.find(otherSide(responder), id, hint);
  }

  /**
   * Looks in the same scope first. A server answers on the stream of the POST with the request, unless a stream was
   * resumed; a client answers a server's request in a separate POST: in the same session, else of any peer.
   */
  private find(from: Side, id: unknown, hint: Hint): Asked | undefined {
    const candidates = this.asked.get(keyOf(from, id)) ?? [];
    const { scope = "", session = "" } = hint;
    const inScope = candidates.filter((each) => each.scope === scope);
    const bound = from === "client" && scope !== "" && hint.replay !== true;
    const groups = bound ? [inScope] : [inScope, candidates.filter((each) => each.session === session), candidates];
    for (const group of groups) {
      const found = group.findLast((each) => !each.answered) ?? group.at(-1);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  private everyAsked(): Asked[] {
    return [...this.asked.values()].flat();
  }

  private countUnreadable({ scope = "" }: Hint): void {
    this.unreadable.set(scope, (this.unreadable.get(scope) ?? 0) + 1);
  }

  private spendUnreadable({ scope = "" }: Hint): boolean {
    const left = this.unreadable.get(scope) ?? 0;
    if (left > 0) this.unreadable.set(scope, left - 1);
    return left > 0;
  }
}
