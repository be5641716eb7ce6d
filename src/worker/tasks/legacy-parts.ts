/**
 * What the object of a task needs for the tasks of legacy clients.
 *
 * @module
 */

import type { FailedQuestion } from "../../core/ask/answers.ts";
import type { Registry } from "../../core/define/registry.ts";
import { ClientFacts } from "../../core/protocol/client-facts.ts";
import { ErrorCode, type JSONRPCErrorObject, type JSONRPCRequest } from "../../core/protocol/jsonrpc.ts";
import { clientOf, readEnvelope } from "../../core/protocol/lifecycle.ts";
import { findVersion } from "../../core/protocol/versions.ts";
import type { TaskClient } from "../../core/tasks/begin-task.ts";
import type { StoredStart } from "./task-store.ts";

/** Those who wait for a task to stand otherwise. */
export class Waits {
  readonly #ends = new Set<() => void>();

  /** Resolves at the next end, or after so long. */
  async next(atMostMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, atMostMs);
    this.#ends.add(resolve);
    await promise;
    this.#ends.delete(resolve);
    clearTimeout(timer);
  }

  end(): void {
    for (const end of this.#ends) end();
  }
}

/** @throws {Error} when the task was made by a later build. */
function legacyClientOf({ version, capabilities, info }: TaskClient): ClientFacts {
  const rules = findVersion(version);
  if (!rules) throw new Error(`The task is of a client of ${version}, which this build does not know.`);
  return new ClientFacts(rules, capabilities, info);
}

/** Who called: the request of a modern client says so itself. */
export function callerOf({ client, request }: StoredStart, { versions }: Pick<Registry, "versions">): ClientFacts {
  return client ? legacyClientOf(client) : clientOf(readEnvelope(request.params), versions);
}

/** A call without what only its handler needs. */
export function named({ params, ...request }: JSONRPCRequest): JSONRPCRequest {
  return { ...request, params: { name: params?.name } };
}

/** What a task comes to whose question has no answer. */
export function unanswered({ reason, message }: FailedQuestion): JSONRPCErrorObject {
  return { code: ErrorCode.InternalError, message, data: { reason } };
}
