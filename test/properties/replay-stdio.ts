/** Random handlers in separate processes over stdio: modern clients in rounds, and legacy ones asked in the middle. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { isObject, type JSONRPCRequest } from "../../src/core/protocol/jsonrpc.ts";
import type { Json } from "../features/peer.ts";
import { CAPABILITIES_KEY, initialize, meta, notification, request } from "../http/messages.ts";
import { NODE } from "../oracle/node.ts";
import { type Case, driveRounds, Effects, judgeRounds, judgeUninterrupted } from "./replay-drive.ts";
import { ABLE, Choices, Person, runStraight, textOf } from "./replay-person.ts";
import type { Place } from "./replay-runs.ts";
import type { Told } from "./replay-stdio-server.ts";

const SERVER = join(import.meta.dirname, "replay-stdio-server.ts");
const LEGACY_VERSION = "2025-11-25";
/** Number of processes. */
const SERVERS = 2;

type Waiting = { readonly resolve: (result: Json) => void; readonly reject: (error: Error) => void };

/** One process, and all its clients. */
class StdioServer {
  readonly #child: ChildProcess = spawn(NODE, [SERVER], { stdio: ["pipe", "pipe", "ignore", "pipe"] });
  readonly #waiting = new Map<string, Waiting>();
  readonly #effects = new Map<string, Effects>();
  /** Called once the process has written all earlier effects. */
  #heard = new Map<string, () => void>();
  #answer: ((question: JSONRPCRequest) => Promise<Json>) | undefined;
  /** Questions do not name their call, so there is one legacy call at a time. */
  #turn: Promise<void> = Promise.resolve();
  #ids = 0;

  constructor() {
    createInterface({ input: this.#child.stdout as Readable }).on("line", (line) =>
      this.#hear(JSON.parse(line) as Json),
    );
    createInterface({ input: this.#child.stdio[3] as Readable }).on("line", (line) =>
      this.#note(JSON.parse(line) as Told),
    );
    this.#child.once("exit", (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`The server ended: ${code}`));
    });
  }

  async open(): Promise<void> {
    await this.#request(initialize(LEGACY_VERSION, "hello", ABLE), "hello");
    this.#send(notification("notifications/initialized"));
  }

  /** Runs a case in rounds, concurrently with others. */
  async runRounds(each: Case): Promise<void> {
    const { effects, args } = this.#begin(each);
    const driven = await driveRounds(
      (more) => {
        const id = `${args.case} ${effects.request}`;
        const params = { name: "run", arguments: args, ...more, _meta: meta({ [CAPABILITIES_KEY]: ABLE }) };
        return this.#request(request("tools/call", params, id), id);
      },
      each,
      effects,
    );
    await this.#hasToldAll(args.case);
    await judgeRounds(each, driven, effects);
  }

  /** Runs a case that is asked in the middle, after others. */
  runAsked(each: Case): Promise<void> {
    const run = this.#turn.then(() => this.#runAsked(each));
    this.#turn = run.catch(() => undefined);
    return run;
  }

  async #runAsked(each: Case): Promise<void> {
    const { script, personSeed, choices } = each;
    const { effects, args } = this.#begin(each);
    const [person, decide] = [new Person(personSeed), new Choices(choices)];
    this.#answer = async (question) => {
      const answer = person.answer(question);
      await new Promise((resolve) => setTimeout(resolve, decide.next(4)));
      return answer;
    };
    const id = `${args.case} 0`;
    const result = await this.#request(request("tools/call", { name: "run", arguments: args }, id), id);
    await this.#hasToldAll(args.case);
    judgeUninterrupted(textOf(result), await runStraight(script, new Person(personSeed)), effects);
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.stdin?.end();
    await ended;
  }

  #begin({ script }: Case) {
    this.#ids += 1;
    const effects = new Effects();
    const args = { script, case: String(this.#ids) };
    this.#effects.set(args.case, effects);
    return { effects, args };
  }

  /** Waits for all earlier effects: those of a marker call come after them. */
  async #hasToldAll(name: string): Promise<void> {
    const marker = `after ${name}`;
    const heard = new Promise<void>((resolve) => this.#heard.set(marker, resolve));
    const script = { do: "step", gives: "nothing", ms: 0, id: 0 };
    const params = { name: "run", arguments: { script, case: marker }, _meta: meta({}) };
    await this.#request(request("tools/call", params, marker), marker);
    await heard;
    this.#heard.delete(marker);
    this.#effects.delete(name);
  }

  #note({ case: name, request: id, key, hasFailed }: Told): void {
    this.#heard.get(name)?.();
    this.#effects.get(name)?.add(key, hasFailed, Number(String(id).split(" ")[1]));
  }

  #hear(message: Json): void {
    if (typeof message.method === "string") {
      if (message.id !== undefined) void this.#reply(message as unknown as JSONRPCRequest);
      return;
    }
    const waiting = this.#waiting.get(String(message.id));
    this.#waiting.delete(String(message.id));
    if (isObject(message.result)) waiting?.resolve(message.result);
    else waiting?.reject(new Error(JSON.stringify(message)));
  }

  async #reply(question: JSONRPCRequest): Promise<void> {
    const result = await this.#answer?.(question);
    this.#send({ jsonrpc: "2.0", id: question.id, result });
  }

  #request(message: unknown, id: string): Promise<Json> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send(message);
    });
  }

  #send(message: unknown): void {
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`);
  }
}

/** Opens some processes; every fourth case runs as a legacy client. */
export async function openStdio(): Promise<Place> {
  const servers = Array.from({ length: SERVERS }, () => new StdioServer());
  await Promise.all(servers.map((server) => server.open()));
  let cases = 0;
  return {
    run: (each) => {
      cases += 1;
      const server = servers[cases % SERVERS] as StdioServer;
      return Math.floor(cases / SERVERS) % 4 === 0 ? server.runAsked(each) : server.runRounds(each);
    },
    close: async () => {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}
