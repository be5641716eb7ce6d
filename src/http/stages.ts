/**
 * The stages of a request that only plugins need: authorization once its messages are known, and reports of refusals. In a
 * module of their own, so that they are bundled only with plugins.
 *
 * @module
 */
import { type ParsedMessage, parseMessage, type RequestId } from "../core/protocol/jsonrpc.ts";
import type { BodyResult } from "./body.ts";
import { requestId, type Verdict } from "./classify.ts";
import type { Admitted, Authorize, ReceivedRequest, RefusedRequest, Stages } from "./endpoint-types.ts";
import { Refused, refuse } from "./refusal.ts";
import type { HttpLimits } from "./response-times.ts";

/** What the stages call. */
export interface StageHooks {
  /** Decide, in this order, whether a caller may send what a request contains. */
  readonly authorize: readonly Authorize[];
  /** Called with each refused request. */
  readonly onRefused: readonly ((refused: RefusedRequest) => void)[];
}

/** Creates the stages. @param report Reports an exception. Returns the reference that the client gets. */
export function createStages(
  { authorize, onRefused }: StageHooks,
  { batchMax }: HttpLimits,
  report: (error: unknown, method: string) => string,
): Stages {
  const authorizeAll = async (
    { request, env, execution, principal, endpoint }: Admitted,
    messages: readonly ParsedMessage[],
    id: RequestId | undefined = requestId(messages),
  ): Promise<Refused | undefined> => {
    const received: ReceivedRequest = { request, env, execution, principal, endpoint, messages };
    try {
      for (const each of authorize) {
        const refusal = await each(received);
        if (refusal) return refuse(refusal, id);
      }
    } catch (error) {
      return refuse({ reason: "internal", correlationId: report(error, "(authorize)") }, id);
    }
    return undefined;
  };
  return {
    authorize: (admitted, messages) => authorizeAll(admitted, messages),
    authorizePost: (admitted, verdict, body) => authorizeAll(admitted, messagesOf(verdict, body, batchMax)),
    refused: (reply, { principal, ...arrived }) => {
      const isResponse = !(reply instanceof Refused);
      if (isResponse && reply.status < 400) return;
      const reason = isResponse ? "auth-response" : reply.refusal.reason;
      const { status, code: errorCode } = isResponse ? { status: reply.status, code: undefined } : reply.form;
      try {
        for (const tell of onRefused) tell({ ...arrived, principal, reason, status, errorCode });
      } catch (error) {
        report(error, "(onRefused)");
      }
    },
  };
}

/** Returns the messages of a POST. Those of one that is refused are counted too, unless they are too many. */
function messagesOf(verdict: Verdict, body: BodyResult, batchMax: number): readonly ParsedMessage[] {
  switch (verdict.kind) {
    case "refuse": {
      if (body.refusal) return [];
      const all: readonly unknown[] = Array.isArray(body.value) ? body.value : [body.value];
      return all.length > batchMax ? [] : all.map(parseMessage);
    }
    case "legacy":
      return verdict.messages;
    case "notification":
      return verdict.message ? [{ kind: "notification", message: verdict.message }] : [];
    default:
      return [{ kind: "request", message: verdict.request }];
  }
}
