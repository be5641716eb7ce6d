/**
 * Creates what one run of a task's handler needs: the call, the store for the attempts of its steps, and the client's error.
 *
 * @module
 */
import { unavailableAsker } from "../../core/ask/asker.ts";
import type { Registry } from "../../core/define/registry.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { KitError, McpError, toErrorObject } from "../../core/protocol/errors.ts";
import type { JSONRPCErrorObject } from "../../core/protocol/jsonrpc.ts";
import type { RequestContext } from "../../core/run/request-context.ts";
import { redact } from "../../core/serve/dispatch.ts";
import type { TryStore } from "../../core/tasks/stored-tries.ts";
import { type ObjectServices, toRequestFacts } from "../services.ts";
import { findCaller } from "./legacy-parts.ts";
import type { StoredStart, StoredState, TaskStore } from "./task-store.ts";

/** Returns the request context of a run. */
export function toCall(
  registry: Registry,
  start: StoredStart,
  surroundings: Pick<RequestContext, "env" | "execution" | "ending">,
  { limits, onError, hooks }: ObjectServices,
): Promise<RequestContext> | RequestContext {
  return registry.withContext({
    ...surroundings,
    registry,
    request: start.request,
    client: findCaller(start, registry),
    principal: start.principal,
    http: start.http && toRequestFacts(start.http),
    limits,
    logLevel: undefined,
    emit: () => undefined,
    asker: unavailableAsker("a task has no connection to its client"),
    endpointHooks: hooks,
    onError,
  });
}

/** Reports an error of a run and returns the client's error. @param registry Undefined if the server function threw it. */
export function toFailure(
  error: unknown,
  { request }: StoredStart,
  registry: Registry | undefined,
  { onError }: ObjectServices,
): JSONRPCErrorObject {
  if (McpError.is(error)) return toErrorObject(error);
  if (registry) return toErrorObject(redact(error, { registry, request, ending: new AbortController(), onError }));
  const correlationId = crypto.randomUUID();
  void onError(error, { correlationId, method: "(task)" });
  return { code: ErrorCode.InternalError, message: `Internal error. Reference: ${correlationId}` };
}

/** Stores progress of a run, unless the run was aborted. @throws {KitError} if the progress is too large. */
export type StoreProgress = (write: () => void) => void;

/**
 * Returns the function that stores the progress of a run. If the storage refuses, the run is aborted, as it is when the object
 * is reset: its end is not stored, the alarm fails, and the platform repeats it.
 *
 * @param refuse Receives the error of the storage.
 */
export function storeProgress(running: AbortController, refuse: (error: unknown) => void): StoreProgress {
  return (write) => {
    if (running.signal.aborted) return;
    try {
      write();
    } catch (error) {
      if (!KitError.is(error)) {
        running.abort(error);
        refuse(error);
      }
      throw error;
    }
  };
}

/** Returns a store for the attempts of a run's steps. */
export function createTryStore(state: StoredState, storing: StoreProgress, store: TaskStore): TryStore {
  return {
    find: (key) => state.tries[key],
    keep: (key, tries) =>
      storing(() => {
        state.tries[key] = tries;
        // A stored attempt counts as progress.
        state.starts = 0;
        store.state = state;
      }),
    remove: (key) => void delete state.tries[key],
  };
}
