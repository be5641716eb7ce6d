/**
 * The routes of `mcp-edge dev` in front of a Worker, for tests of its page: the files of the page, and a recorder that keeps what it
 * is given. The endpoint behind it is real.
 */
import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Comparison, FaultRequest, ObjectState } from "../../src/recorder/api.ts";
import type { Entry, Summary } from "../../src/recorder/entry.ts";

const FOLDER = join(import.meta.dirname, "../../dist/page-app");
const PREFIX = "/__mcp-edge/";

type Headers = Readonly<Record<string, string>>;

/** A recorder with the routes that the page uses. */
export class RecorderStub implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: string;
  readonly #entries = new Map<string, Entry>();
  readonly #streams = new Set<ServerResponse>();
  /** The requests that change something, as the page has sent them. */
  readonly posted: { readonly path: string; readonly body: unknown; readonly isFromPage: boolean }[] = [];
  objects: readonly ObjectState[] = [];
  comparison: Comparison = { pairs: [], differences: [] };
  hasFaults = true;
  /** The list of entries is sent when this promise resolves, with the entries of the time of the request. */
  listIsHeld: Promise<void> | undefined;
  #seq = 0;
  #lastId = 0;

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        if (!response.headersSent) response.writeHead(500);
        response.end(String(error));
      });
    });
  }

  /** @param target The origin of the Worker. */
  static async start(target: string): Promise<RecorderStub> {
    const stub = new RecorderStub(target);
    await new Promise<void>((resolve) => stub.#server.listen(0, "127.0.0.1", resolve));
    return stub;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The address of the page. */
  page(): string {
    return `${this.origin}${PREFIX}`;
  }

  /** Adds an entry, or replaces it, and reports it to the pages. */
  put(entry: Omit<Entry, "seq">): void {
    this.#seq += 1;
    const stored = { ...entry, seq: this.#seq };
    this.#entries.set(entry.id, stored);
    for (const stream of this.#streams) stream.write(`event: summary\ndata: ${JSON.stringify(toSummary(stored))}\n\n`);
  }

  /** Removes all entries, as if none had been recorded. */
  removeAll(): void {
    this.#entries.clear();
    for (const stream of this.#streams) stream.write("event: clear\ndata: {}\n\n");
  }

  /** Ends the streams of the pages, as a recorder does that is restarted. */
  dropStreams(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", this.origin);
    if (pathname.startsWith(`${PREFIX}api/`))
      return this.#serveApi(pathname.slice(PREFIX.length + 4), request, response);
    if (pathname.startsWith(PREFIX)) return serveFile(pathname.slice(PREFIX.length) || "index.html", response);
    return this.#pass(request, response);
  }

  async #serveApi(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [name, id, form] = path.split("/");
    const json = (value: unknown, status = 200) => {
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    };
    if (request.method === "POST") {
      const body: unknown = JSON.parse((await request.toArray()).join("") || "{}");
      this.posted.push({ path, body, isFromPage: request.headers["mcp-edge-dev"] === "1" });
      return json(this.#change(path, body));
    }
    const entry = id === undefined ? undefined : this.#entries.get(id);
    if (name === "info") return json(this.#info());
    if (name === "objects") return json(this.objects);
    if (name === "events") return this.#openStream(response);
    if (name === "recording")
      return json({ format: "mcp-edge-recording", formatVersion: 1, entries: [...this.#entries.values()] });
    if (name === "entries" && id === undefined) {
      const summaries = [...this.#entries.values()].map(toSummary);
      await this.listIsHeld;
      return json(summaries);
    }
    if (entry === undefined) return json({ problem: `There is no entry ${id}.` }, 404);
    json(form === undefined ? entry : { text: `${form} of ${id}` });
  }

  #info() {
    const endpoint = { url: `${this.origin}/mcp`, path: "/mcp" };
    return { mode: "dev", endpoint, contents: true, faults: this.hasFaults, version: "0.1.0" } as const;
  }

  #change(path: string, body: unknown): unknown {
    if (path === "clear") this.removeAll();
    if (path === "compare") return this.comparison;
    if (path === "recording") return { entries: (body as { entries: unknown[] }).entries.length };
    return { done: true, text: `Done: ${(body as FaultRequest).kind}.` };
  }

  #openStream(response: ServerResponse): void {
    response.writeHead(200, { "Content-Type": "text/event-stream" }).write(": open\n\n");
    this.#streams.add(response);
    response.on("close", () => this.#streams.delete(response));
  }

  /** Passes a request on to the Worker, and records it. */
  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAtMs = Date.now();
    const body = (await request.toArray()).join("");
    this.#lastId += 1;
    const id = String(this.#lastId);
    const begun = begin(id, startedAtMs, request, body);
    this.put(begun);
    const { host: _, connection: __, ...headers } = request.headers as Headers;
    const controller = new AbortController();
    response.on("close", () => controller.abort());
    try {
      const answer = await fetch(this.#target + request.url, {
        method: request.method ?? "GET",
        headers: { ...headers, origin: this.#target, "accept-encoding": "identity" },
        signal: controller.signal,
        redirect: "manual",
        ...(body !== "" && { body }),
      });
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).flushHeaders();
      let text = "";
      for await (const chunk of answer.body ?? []) {
        text += Buffer.from(chunk as Uint8Array).toString();
        response.write(chunk);
      }
      response.end();
      this.put(finish(begun, answer.status, text));
    } catch {
      response.destroy();
      this.put({ ...begun, ms: Date.now() - startedAtMs, outcome: "cut-by-client" });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function serveFile(name: string, response: ServerResponse): void {
  const headers = JSON.parse(readFileSync(join(FOLDER, "headers.json"), "utf8")) as Record<string, Headers>;
  if (!Object.hasOwn(headers, name) || !existsSync(join(FOLDER, name))) return void response.writeHead(404).end();
  response.writeHead(200, headers[name]).end(readFileSync(join(FOLDER, name)));
}

export const NO_COUNTS: Entry["counts"] = {
  objectRequests: 0,
  messages: 0,
  rowsRead: 0,
  rowsWritten: 0,
  alarmsSet: 0,
  alarmsRun: 0,
  wakeUps: 0,
};

interface Message {
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly uri?: string;
    readonly clientInfo?: { readonly name: string; readonly version: string };
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
  readonly error?: { readonly message: string };
  readonly result?: { readonly isError?: boolean; readonly resultType?: string };
}

/** The client of a session is known from its first request. */
const PAGE = { name: "mcp-edge page", version: "0.1.0" };

function begin(
  id: string,
  startedAtMs: number,
  { method: verb = "GET", url = "", headers }: IncomingMessage,
  body: string,
): Omit<Entry, "seq"> {
  const message = (body === "" ? {} : JSON.parse(body)) as Message;
  const { method, params } = message;
  const target = params?.name ?? params?.uri;
  const isPage = headers["user-agent"]?.includes("Chrome") === true;
  const version = headers["mcp-protocol-version"] as string | undefined;
  return {
    id,
    startedAtMs,
    kind:
      verb === "GET"
        ? "stream"
        : verb === "DELETE"
          ? "delete"
          : method?.startsWith("notifications/")
            ? "notification"
            : method
              ? "request"
              : "answer",
    http: { method: verb, path: url },
    ...(isPage && { client: PAGE }),
    ...(version && { version, era: version >= "2026" ? ("modern" as const) : ("legacy" as const) }),
    ...(method && { method }),
    ...(target && { target }),
    outcome: "running",
    counts: NO_COUNTS,
    dollarsPerMillion: 0.3,
    marks: [],
    messages: body === "" ? [] : [{ atMs: startedAtMs, from: "client", message }],
    invocations: [],
    related: [],
    findings: [],
  };
}

function finish(begun: Omit<Entry, "seq">, status: number, text: string): Omit<Entry, "seq"> {
  const now = Date.now();
  const lines =
    text.includes("\ndata: ") || text.startsWith("data: ")
      ? text
          .split("\n")
          .filter((line) => line.startsWith("data: {"))
          .map((line) => line.slice(6))
      : [text];
  const messages = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Message);
  const last = messages.at(-1);
  const failed = last?.error !== undefined || status >= 400;
  const asks = last?.result?.resultType === "input_required";
  const outcome = failed ? "error" : last?.result?.isError ? "tool-error" : asks ? "input-required" : "ok";
  const { id, startedAtMs } = begun;
  return {
    ...begun,
    ms: now - startedAtMs,
    http: { ...(begun.http as { method: string; path: string }), status },
    outcome,
    ...(last?.error && { outcomeText: last.error.message }),
    messages: [...begun.messages, ...messages.map((message) => ({ atMs: now, from: "server" as const, message }))],
    invocations: [
      {
        id: `${id}-worker`,
        place: "worker",
        cause: "fetch",
        startedAtMs,
        endedAtMs: now,
        outcome: "ok",
        status,
        spans: [],
        logs: [],
        exceptions: [],
      },
    ],
  };
}

function toSummary({
  request: _,
  response: __,
  messages: ___,
  invocations: ____,
  related: _____,
  findings: ______,
  ...summary
}: Entry): Summary {
  return summary;
}
