/**
 * Lets `mcp-edge dev --faults` abort objects, run their alarms and move the clock, with the methods of the test harness.
 *
 * This file is bundled into the Worker that `mcp-edge dev --faults` runs. It is in no deployment.
 */
import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import { moveClock } from "./clock.ts";
import { CONTROL } from "./names.ts";
import { type Control, control } from "./worker-side.ts";

/** The header with the secret of this run. Requests without it are passed to the Worker. */
export const FAULT_HEADER = "mcp-edge-fault";

/** A command of `mcp-edge dev`. */
export type FaultCommand =
  | { readonly kind: "abort" | "alarm" | "due"; readonly object: string }
  | { readonly kind: "clock"; readonly ms: number };

/** The outcome of a command. */
export interface FaultAnswer {
  readonly done: boolean;
  /** The message of an exception. */
  readonly failed?: string;
}

type Fetch = (request: Request, env: object, ctx: ExecutionContext) => unknown;
type Stub = { readonly [CONTROL]: (asked: Control) => Promise<unknown> };
type EntrypointClass = new (ctx: ExecutionContext, env: object) => WorkerEntrypoint;

const ABORTED = "aborted by mcp-edge dev";

/** Returns the default export of a Worker with the route, and adds the method of the harness to its classes. */
export function withFaults(module: Readonly<Record<string, unknown>>, secret: string): unknown {
  const classes = Object.keys(module).filter((name) => isObjectClass(module[name]));
  control(module, classes);
  const worker = module.default;
  const isCommand = (request: Request) => request.headers.get(FAULT_HEADER) === secret;
  if (isEntrypointClass(worker)) {
    return class extends worker {
      override async fetch(request: Request): Promise<Response> {
        if (isCommand(request)) return answer(request, this.env, this.ctx);
        return (await super.fetch?.(request)) ?? new Response(null, { status: 404 });
      }
    };
  }
  if (typeof worker !== "object" || worker === null) return worker;
  const { fetch } = worker as { readonly fetch?: Fetch };
  return new Proxy(worker, {
    get(target, property) {
      if (property !== "fetch") return Reflect.get(target, property, target);
      return (request: Request, env: object, ctx: ExecutionContext) =>
        isCommand(request) ? answer(request, env, ctx) : fetch?.call(target, request, env, ctx);
    },
  });
}

function isObjectClass(value: unknown): boolean {
  return typeof value === "function" && value.prototype instanceof DurableObject;
}

function isEntrypointClass(value: unknown): value is EntrypointClass {
  return typeof value === "function" && value.prototype instanceof WorkerEntrypoint;
}

async function answer(request: Request, env: object, ctx: ExecutionContext): Promise<Response> {
  const command: FaultCommand = await request.json();
  try {
    return Response.json({ done: await run(command, env, ctx) } satisfies FaultAnswer);
  } catch (error) {
    const failed = error instanceof Error ? error.message : String(error);
    // An aborted object does not respond to any call, including this one.
    return Response.json({ done: command.kind === "abort" && failed.includes(ABORTED), failed } satisfies FaultAnswer);
  }
}

async function run(command: FaultCommand, env: object, ctx: ExecutionContext): Promise<boolean> {
  if (command.kind === "clock") {
    moveClock(command.ms);
    return true;
  }
  const stub = findObject(command.object, env, ctx);
  if (!stub) return false;
  const asked: Control =
    command.kind === "abort" ? { ask: "abort", reason: ABORTED } : { ask: "alarm", onlyIfDue: command.kind === "due" };
  return (await stub[CONTROL](asked)) === true;
}

/** Finds an object in the namespaces of the Worker. An id is valid in its own namespace only. */
function findObject(id: string, env: object, ctx: ExecutionContext): Stub | undefined {
  const { exports } = ctx as { readonly exports?: object };
  const namespaces = [...Object.values(env), ...(exports ? Object.values(exports) : [])].filter(isNamespace);
  for (const namespace of namespaces) {
    try {
      return namespace.get(namespace.idFromString(id)) as unknown as Stub;
    } catch {
      // The id belongs to another namespace.
    }
  }
  return undefined;
}

function isNamespace(value: unknown): value is DurableObjectNamespace {
  return (typeof value === "object" || typeof value === "function") && value !== null && "idFromString" in value;
}
