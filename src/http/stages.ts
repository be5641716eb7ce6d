/**
 * The stages of a request that only plugins need: authorization once its messages are known, and reports of refusals. In a
 * module of their own, so that they are bundled only with plugins.
 *
 * @module
 */
import { runDetached } from "../core/protocol/error-reports.ts";
import { describeType, KitError } from "../core/protocol/errors.ts";
import { isObject, type ParsedMessage, parseMessage, type RequestId } from "../core/protocol/jsonrpc.ts";
import type { BodyResult } from "./body.ts";
import { requestId, type Verdict } from "./classify.ts";
import type { Admitted, Authorize, ReceivedRequest, RefusedRequest, Stages } from "./endpoint-types.ts";
import { type Refusal, Refused, refuse } from "./refusal.ts";
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
        const refusal: unknown = await each(received);
        if (refusal !== undefined) return refusedBy(refusal, id);
      }
    } catch (error) {
      return refuse({ reason: "internal", correlationId: report(error, "(authorize)") }, id);
    }
    return undefined;
  };
  return {
    authorize: (admitted, messages) => authorizeAll(admitted, messages),
    authorizePost: (admitted, verdict, body) => authorizeAll(admitted, listMessages(verdict, body, batchMax)),
    refused: (reply, { principal, ...arrived }) => {
      const isResponse = !(reply instanceof Refused);
      if (isResponse && reply.status < 400) return;
      const reason = isResponse ? "auth-response" : reply.refusal.reason;
      const { status, code: errorCode } = isResponse ? { status: reply.status, code: undefined } : reply.form;
      reportRefused(onRefused, { ...arrived, principal, reason, status, errorCode }, report);
    },
  };
}

/**
 * Returns the refusal of a plugin. What a plugin returns is checked, since its type may be `any`, and anything but undefined
 * must not let the request pass.
 */
function refusedBy(refusal: unknown, id: RequestId | undefined): Refused {
  const refused = refuse(refusal as Refusal, id);
  if (isObject(refusal) && typeof refusal.reason === "string") {
    const { status = 0, code, message } = { ...refused.form };
    // Creating the response checks the rest of the form, such as the names of headers.
    if (status >= 400 && Number.isInteger(code) && typeof message === "string" && refused.toResponse()) return refused;
  }
  const text = `authorize returned ${describeType(refusal)}. Return undefined, or { reason, form: { status, code, message } } with a status from 400 on.`;
  throw new KitError("options-invalid", text);
}

/** Tells all hooks about a refused request. The failure of one keeps nothing from the others. Never throws. */
export function reportRefused(
  hooks: StageHooks["onRefused"],
  refused: RefusedRequest,
  report: (error: unknown, method: string) => unknown,
): void {
  for (const tell of hooks) {
    runDetached(
      () => tell(refused),
      (error) => void report(error, "(onRefused)"),
      (work) => refused.execution.waitUntil(work),
    );
  }
}

/** Returns the messages of a POST. Those of one that is refused are counted too, unless they are too many. */
function listMessages(verdict: Verdict, body: BodyResult, batchMax: number): readonly ParsedMessage[] {
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
