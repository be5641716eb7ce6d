/**
 * Runs in wrangler's process. Evicts objects and kills workerd.
 *
 * @module
 */
import childProcess, { type ChildProcess } from "node:child_process";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { isMainThread } from "node:worker_threads";

/** A command from `mcp-edge dev` to wrangler's process. */
export type RuntimeCommand =
  | {
      readonly id: number;
      readonly mcpEdge: "evict";
      readonly workerName: string;
      readonly className: string;
      readonly object: string;
    }
  | { readonly id: number; readonly mcpEdge: "kill" };

/** The result of a command. */
export interface RuntimeResult {
  readonly mcpEdge: "answer";
  readonly id: number;
  readonly done: boolean;
  readonly failed?: string;
}

/** The members of a Miniflare instance that are used here. */
interface MiniflareLike {
  unsafeEvictDurableObject(scriptName: string, className: string, options: object): Promise<void>;
}

/** Listens for commands. @param program The path of wrangler's program. @param inside The port at which wrangler listens. */
export function controlRuntime(program: string, inside: number): void {
  if (!isMainThread || !process.send) return;
  const runtimes = collectRuntimes(inside);
  const instances = collectInstances(program);
  process.on("message", (message) => {
    if (!isCommand(message)) return;
    void run(message, runtimes, instances).then((answer) => process.send?.(answer));
  });
  // Listening for commands must not keep wrangler running.
  process.channel?.unref();
}

function isCommand(message: unknown): message is RuntimeCommand {
  return typeof message === "object" && message !== null && "mcpEdge" in message;
}

async function run(
  command: RuntimeCommand,
  runtimes: ReadonlySet<ChildProcess>,
  instances: ReadonlySet<MiniflareLike>,
): Promise<RuntimeResult> {
  const answer = (done: boolean, failed?: string): RuntimeResult => {
    return { mcpEdge: "answer", id: command.id, done, ...(failed === undefined ? {} : { failed }) };
  };
  if (command.mcpEdge === "kill") {
    const killed = [...runtimes].filter((child) => child.kill("SIGKILL"));
    return answer(killed.length > 0);
  }
  const { workerName, className, object } = command;
  let failed: string | undefined;
  for (const instance of instances) {
    try {
      await instance.unsafeEvictDurableObject(workerName, className, { id: object, webSockets: "hibernate" });
      return answer(true);
    } catch (error) {
      // The instance runs another Worker, or the object is not in memory.
      failed = error instanceof Error ? error.message : String(error);
    }
  }
  return answer(false, failed);
}

/** Collects the workerd processes that run the Worker. The process that listens on wrangler's port is not one of them. */
function collectRuntimes(inside: number): ReadonlySet<ChildProcess> {
  const found = new Set<ChildProcess>();
  const { spawn } = childProcess;
  childProcess.spawn = ((...given: Parameters<typeof spawn>) => {
    const child = Reflect.apply(spawn, childProcess, given) as ChildProcess;
    const args: unknown = given[1];
    const words = Array.isArray(args) ? args.map(String) : [];
    const isRuntime = words[0] === "serve" && !words.some((word) => word.endsWith(`:${inside}`));
    if (isRuntime) {
      found.add(child);
      child.once("exit", () => found.delete(child));
    }
    return child;
  }) as typeof spawn;
  syncBuiltinESMExports();
  return found;
}

/** Collects the Miniflare instances that wrangler creates. It detects them when wrangler reads their `ready` property. */
function collectInstances(program: string): ReadonlySet<MiniflareLike> {
  const found = new Set<MiniflareLike>();
  try {
    const { Miniflare } = createRequire(program)("miniflare") as { Miniflare: { prototype: MiniflareLike } };
    const ready = Object.getOwnPropertyDescriptor(Miniflare.prototype, "ready");
    if (!ready?.get) return found;
    const { get } = ready;
    Object.defineProperty(Miniflare.prototype, "ready", {
      ...ready,
      get(this: MiniflareLike) {
        found.add(this);
        return get.call(this);
      },
    });
  } catch {
    // Another version of wrangler. Commands that evict objects will fail.
  }
  return found;
}
