/**
 * Injects faults into the Worker that `mcp-edge dev` runs.
 *
 * @module
 */
import type { ChildProcess } from "node:child_process";
import { FAULTS_WITH_FLAG, type FaultRequest, type FaultResult, type ObjectState } from "../../../recorder/api.ts";
import type { Recorder } from "../../../recorder/recorder.ts";
import type { RecordingProxy } from "../proxy/recording-proxy.ts";
import type { RuntimeCommand, RuntimeResult } from "./runtime-control.ts";

export interface FaultOptions {
  readonly recorder: Recorder;
  readonly proxy: RecordingProxy;
  readonly workerName: string;
  /** The origin at which wrangler listens. */
  readonly inside: string;
  /** The secret of the route in the Worker. Undefined without `--faults`. */
  readonly secret: string | undefined;
  readonly objects: () => Promise<readonly ObjectState[]>;
  /** Returns wrangler's process. Undefined before it is started. */
  readonly child: () => ChildProcess | undefined;
}

/** A command for the route in the Worker. */
type Command =
  | { readonly kind: "abort" | "alarm" | "due"; readonly object: string }
  | { readonly kind: "clock"; readonly ms: number };

/** The header with the secret of the route in the Worker. */
const FAULT_HEADER = "mcp-edge-fault";

/** The timeout of a fault, in milliseconds. */
const FAULT_MS = 30_000;

/** The maximum number of alarms that run when the clock is advanced. */
const ALARMS_MAX = 1_000;

export class Faults {
  readonly #options: FaultOptions;
  #commands = 0;
  #aheadMs = 0;

  constructor(options: FaultOptions) {
    this.#options = options;
  }

  /** Injects a fault. Does not reject if the fault fails. */
  async cause(request: FaultRequest): Promise<FaultResult> {
    if (FAULTS_WITH_FLAG.includes(request.kind) && this.#options.secret === undefined) {
      return { done: false, text: "This fault requires code in the Worker. Start: mcp-edge dev --faults" };
    }
    try {
      return await this.#cause(request);
    } catch (error) {
      return { done: false, text: `The fault failed: ${error instanceof Error ? error.message : String(error)}` };
    }
  }

  async #cause({ kind, entry, object, ms }: FaultRequest): Promise<FaultResult> {
    const { proxy } = this.#options;
    switch (kind) {
      case "cut":
        return entry !== undefined && proxy.cut(entry)
          ? { done: true, text: "The connection was reset." }
          : { done: false, text: "The entry is not running." };
      case "delay":
        proxy.delayMs = ms ?? 0;
        return {
          done: true,
          text: ms ? `Answers to questions are delayed by ${ms} ms.` : "Answers are no longer delayed.",
        };
      case "kill":
        return this.#kill();
      case "evict":
        return this.#evict(object);
      case "clock":
        return this.#moveClock(ms ?? 0);
      default:
        return this.#control(kind, object);
    }
  }

  async #kill(): Promise<FaultResult> {
    const { done, failed } = await this.#askWrangler({ mcpEdge: "kill" });
    if (!done) return { done, text: failed ?? "workerd is not running." };
    this.#options.recorder.runtimeEnded(Date.now());
    return { done, text: "workerd was killed. wrangler starts it again with the same state." };
  }

  async #evict(id: string | undefined): Promise<FaultResult> {
    const found = (await this.#options.objects()).find((each) => each.id === id);
    if (!found) return NO_OBJECT;
    const { workerName } = this.#options;
    const { className } = found;
    const command = { mcpEdge: "evict", workerName, className, object: found.id } as const;
    const { done, failed } = await this.#askWrangler(command);
    if (!done)
      return {
        done,
        text: failed?.includes("not currently running") ? "The object is not in memory." : (failed ?? ""),
      };
    this.#options.recorder.objectLeft(found.id);
    return { done, text: "The object was evicted. Its next request creates a new instance." };
  }

  /** Advances the clock, and runs the alarms that are then due. */
  async #moveClock(ms: number): Promise<FaultResult> {
    this.#aheadMs += ms;
    await this.#askWorker({ kind: "clock", ms: this.#aheadMs });
    const objects = await this.#options.objects();
    let ran = 0;
    for (const { id, alarmAtMs } of objects) {
      if (alarmAtMs === undefined) continue;
      while (ran < ALARMS_MAX && (await this.#askWorker({ kind: "due", object: id })).done) ran += 1;
    }
    return {
      done: true,
      text: `The clock is ${this.#aheadMs} ms ahead. ${ran === 1 ? "1 alarm" : `${ran} alarms`} ran.`,
    };
  }

  async #control(kind: "abort" | "alarm", object: string | undefined): Promise<FaultResult> {
    if (object === undefined) return NO_OBJECT;
    const { done, failed } = await this.#askWorker({ kind, object });
    if (kind === "abort") {
      if (done) this.#options.recorder.objectLeft(object);
      return done ? { done, text: "The object was reset." } : { done, text: failed ?? NO_OBJECT.text };
    }
    if (failed !== undefined) return { done: false, text: `The alarm failed: ${failed}` };
    return { done, text: done ? "The alarm ran." : "No alarm is set." };
  }

  async #askWorker(command: Command): Promise<{ readonly done: boolean; readonly failed?: string }> {
    const { inside, secret = "" } = this.#options;
    const response = await fetch(`${inside}${CONTROL_PATH}`, {
      method: "POST",
      headers: { [FAULT_HEADER]: secret },
      body: JSON.stringify(command),
      signal: AbortSignal.timeout(FAULT_MS),
    });
    if (!response.ok) throw new Error(`The Worker responded with ${response.status}.`);
    return (await response.json()) as { done: boolean; failed?: string };
  }

  /** Sends a command to wrangler's process. */
  #askWrangler(command: WithoutId<RuntimeCommand>): Promise<Pick<RuntimeResult, "done" | "failed">> {
    const child = this.#options.child();
    if (!child?.connected) return Promise.resolve({ done: false, failed: "wrangler is not running." });
    this.#commands += 1;
    const id = this.#commands;
    return new Promise((resolve) => {
      const end = (answer: Pick<RuntimeResult, "done" | "failed">) => {
        clearTimeout(timer);
        child.off("message", take);
        resolve(answer);
      };
      const take = (message: unknown) => {
        const answer = message as Partial<RuntimeResult> | null;
        if (answer?.mcpEdge === "answer" && answer.id === id) end(answer as RuntimeResult);
      };
      const timer = setTimeout(() => end({ done: false, failed: "wrangler does not respond." }), FAULT_MS);
      child.on("message", take);
      child.send({ ...command, id });
    });
  }
}

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;

const NO_OBJECT: FaultResult = { done: false, text: "There is no such object." };

/** The path of the route in the Worker. The proxy handles all paths of the recorder itself, so clients cannot reach it. */
const CONTROL_PATH = "/__mcp-edge/control";
