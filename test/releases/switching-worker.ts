/**
 * A Worker that consists of several builds of the same Worker, as during a deploy: requests are served by one build, and each
 * object by the build that applied when it was started, until it is reset. A test chooses the builds at `/__builds`.
 *
 * Exports a class for each class of the builds.
 */
import { env } from "cloudflare:workers";
// @ts-expect-error: the bundler provides this module: see bundle.ts.
import { BUILDS as given } from "builds";
import { DurableObject, noteRole, servePlatform, setClock } from "../harness/platform.ts";

/** The object class of an endpoint, as a build exports it. */
type ObjectClass = new (
  ctx: DurableObjectState,
  env: object,
) => {
  callRole(target: string, method: string, ...args: unknown[]): Promise<unknown>;
  fetch(request: Request): Promise<Response>;
  alarm(info?: { readonly retryCount: number }): Promise<void>;
  webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void>;
  webSocketClose(socket: WebSocket, code: number): Promise<void>;
};

interface Build {
  readonly default: { fetch(request: Request, env: object, context: ExecutionContext): Promise<Response> };
  readonly [name: string]: unknown;
}

/** The builds that are used. */
export interface Chosen {
  /** The build that serves requests. */
  readonly worker: string;
  /** The build of objects that `byId` does not name. */
  readonly objects: string;
  /** The builds of single objects, by name, or by id if they have no name. */
  readonly byId?: Readonly<Record<string, string>>;
}

const BUILDS = given as Readonly<Record<string, Build>>;
const { CLOCK_MS } = env as unknown as { readonly CLOCK_MS?: number };
const [first = ""] = Object.keys(BUILDS);

let chosen: Chosen = { worker: first, objects: first };
if (CLOCK_MS !== undefined) setClock(CLOCK_MS);

function switching(name: string) {
  return class extends DurableObject {
    readonly #inner: InstanceType<ObjectClass>;

    constructor(ctx: DurableObjectState, bindings: never) {
      super(ctx, bindings);
      const build = BUILDS[chosen.byId?.[ctx.id.name ?? ctx.id.toString()] ?? chosen.objects] as Build;
      this.#inner = new (build[name] as ObjectClass)(ctx, bindings);
    }

    callRole(target: string, method: string, ...args: unknown[]): Promise<unknown> {
      noteRole(this.ctx.id, target);
      return this.#inner.callRole(target, method, ...args);
    }

    override fetch(request: Request): Promise<Response> {
      noteRole(this.ctx.id, new URL(request.url).pathname.slice(1));
      return this.#inner.fetch(request);
    }

    override alarm(info?: AlarmInvocationInfo): Promise<void> {
      return this.#inner.alarm(info);
    }

    override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
      return this.#inner.webSocketMessage(socket, message);
    }

    override webSocketClose(socket: WebSocket, code: number): Promise<void> {
      return this.#inner.webSocketClose(socket, code);
    }
  };
}

export const McpObject = switching("McpObject");
export const TightObject = switching("TightObject");
export const SharedObject = switching("SharedObject");
export const AllObject = switching("AllObject");
export const SignedObject = switching("SignedObject");

export default {
  async fetch(request: Request, bindings: object, context: ExecutionContext): Promise<Response> {
    if (request.url.endsWith("/__builds")) {
      chosen = await request.json();
      return new Response("ok");
    }
    const served = await servePlatform(request);
    return served ?? (BUILDS[chosen.worker] as Build).default.fetch(request, bindings, context);
  },
};
