/**
 * Functions of the task object that serve tasks of legacy clients.
 *
 * @module
 */

import type { FailedQuestion } from "../../core/ask/answers.ts";
import type { Registry } from "../../core/define/registry.ts";
import { ClientFacts } from "../../core/protocol/client-facts.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import type { JSONRPCErrorObject, JSONRPCRequest } from "../../core/protocol/jsonrpc.ts";
import { readEnvelope, toClient } from "../../core/protocol/lifecycle.ts";
import { findVersion } from "../../core/protocol/versions.ts";
import type { TaskClient } from "../../core/tasks/begin-task.ts";
import type { StoredStart } from "./task-store.ts";

/** The requests that wait until a task changes. */
export class ChangeWaiters {
  readonly #ends = new Set<() => void>();

  /** Resolves at the next call of `end()`, but after `atMostMs` at the latest. */
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

/** @throws {Error} if a later build created the task, for a protocol version that is unknown to this build. */
function toLegacyClient({ version, capabilities, info }: TaskClient): ClientFacts {
  const rules = findVersion(version);
  if (!rules) throw new Error(`The client of this task speaks ${version}, which this build does not know.`);
  return new ClientFacts(rules, capabilities, info);
}

/** Returns the client that created the task. Modern clients are described in the request, legacy clients in `client`. */
export function findCaller({ client, request }: StoredStart, { versions }: Pick<Registry, "versions">): ClientFacts {
  return client ? toLegacyClient(client) : toClient(readEnvelope(request.params), versions);
}

/** Returns the request with the name of the tool as its only parameter. */
export function withNameOnly({ params, ...request }: JSONRPCRequest): JSONRPCRequest {
  return { ...request, params: { name: params?.name } };
}

/** Returns the error of a task that failed because a question was not answered. */
export function unansweredError({ reason, message }: FailedQuestion): JSONRPCErrorObject {
  return { code: ErrorCode.InternalError, message, data: { reason } };
}
