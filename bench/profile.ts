/** `npm run bench -- --profile ours-readme:session-call`: where a Worker spends its time, by function. */
import { setTimeout as pause } from "node:timers/promises";
import { bundle } from "./bundle.ts";
import { CONTESTANTS } from "./contestants.ts";
import { SLICES } from "./measure/calls.ts";
import { freePort, Workerd } from "./workerd.ts";

const WARM_UP_MS = 3_000;
const PROFILED_MS = 5_000;
const INTERVAL_US = 100;
/** The number of functions that are shown. */
const SHOWN = 45;

interface CallFrame {
  readonly functionName: string;
  readonly lineNumber: number;
}

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Profiles one scenario of calls, and returns a table: the share of the time that is not idle, by function. */
export async function profile(what: string): Promise<string> {
  const [name, key = "session-call"] = what.split(":");
  const contestant = CONTESTANTS.find((one) => one.name === name);
  const slice = SLICES[key];
  if (!contestant || !slice) throw new Error(`Write --profile <contestant>:<scenario>, not "${what}".`);
  const { path } = await bundle(contestant, { isReadable: true });
  const port = await freePort();
  await using workerd = await Workerd.start(contestant, path, [`--inspector-addr=127.0.0.1:${port}`]);
  await slice(workerd, WARM_UP_MS);
  await using inspector = await Inspector.attach(port);
  await inspector.ask("Profiler.enable");
  await inspector.ask("Profiler.setSamplingInterval", { interval: INTERVAL_US });
  await inspector.ask("Profiler.start");
  const { value = Number.NaN } = await slice(workerd, PROFILED_MS);
  const found = (await inspector.ask("Profiler.stop")) as { readonly profile: Profile };
  return tableOf(what, value, found.profile);
}

/** A connection to the inspector of workerd's only Worker. */
class Inspector implements AsyncDisposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #id = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { readonly id?: number; readonly result?: unknown };
      if (id !== undefined) this.#waiting.get(id)?.(result);
    });
  }

  static async attach(port: number): Promise<Inspector> {
    await pause(100);
    const socket = new WebSocket(`ws://127.0.0.1:${port}/main`);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", () => reject(new Error("The inspector of workerd cannot be reached.")));
    });
    return new Inspector(socket);
  }

  ask(method: string, params: object = {}): Promise<unknown> {
    this.#id += 1;
    this.#socket.send(JSON.stringify({ id: this.#id, method, params }));
    return new Promise((resolve) => this.#waiting.set(this.#id, resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
  }
}

function tableOf(what: string, perSecond: number, { nodes, samples, timeDeltas }: Profile): string {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const nameOf = (id: number) => {
    const { functionName, lineNumber } = (byId.get(id) as Profile["nodes"][number]).callFrame;
    return functionName.startsWith("(") ? functionName : `${functionName || "(anonymous)"}:${lineNumber + 1}`;
  };
  const own = new Map<string, number>();
  const total = new Map<string, number>();
  let busyUs = 0;
  for (const [at, id] of samples.entries()) {
    const us = timeDeltas[at] ?? 0;
    const name = nameOf(id);
    if (name === "(idle)") continue;
    busyUs += us;
    own.set(name, (own.get(name) ?? 0) + us);
    const names = new Set<string>();
    for (let each: number | undefined = id; each !== undefined; each = parents.get(each)) names.add(nameOf(each));
    for (const each of names) total.set(each, (total.get(each) ?? 0) + us);
  }
  const share = (us = 0) => `${((us / busyUs) * 100).toFixed(1).padStart(5)} %`;
  const rows = [...total].sort(([, a], [, b]) => b - a).slice(0, SHOWN);
  const selves = [...own].sort(([, a], [, b]) => b - a).slice(0, SHOWN);
  return [
    `${what}: ${Math.round(perSecond)} calls a second while it was profiled`,
    "",
    "itself   function:line of the bundle",
    ...selves.map(([name, us]) => `${share(us)}  ${name}`),
    "",
    "with what it calls",
    ...rows.map(([name, us]) => `${share(us)}  ${name}`),
  ].join("\n");
}
