/**
 * The stages of a request that only plugins need: authorization once its messages are known, and reports of refusals.
 * In a separate module, so that they are bundled only with plugins.
 *
 * @module
 */
import { runDetached } from "../core/protocol/error-reports.ts";
import { describeType, KitError } from "../core/protocol/errors.ts";
import {
  isObject,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JsonObject,
  type RequestId,
} from "../core/protocol/jsonrpc.ts";
import { readMeta } from "../core/protocol/lifecycle.ts";
import * as META from "../core/protocol/meta.ts";
import { describeSubject } from "../core/protocol/request-description.ts";
import { findVersion } from "../core/protocol/versions.ts";
import { requestId } from "./classify.ts";
import type { Arrived, Authorize, ReceivedRequest, RefusedMessage, RefusedRequest, Stages } from "./endpoint-types.ts";
import { type Refusal, Refused, refuse } from "./refusal.ts";

/** The hooks that the stages call. */
export interface StageHooks {
  /** Called in this order, to decide whether the caller may send the messages of a request. */
  readonly authorize: readonly Authorize[];
  /** Called with each refused request. */
  readonly onRefused: readonly ((refused: RefusedRequest) => void)[];
}

/** Creates the stages. @param report Reports an exception. Returns the correlation id for the client. */
export function createStages(
  { authorize, onRefused }: StageHooks,
  report: (error: unknown, method: string) => string,
): Stages {
  return {
    authorize: async ({ request, env, execution, principal, endpoint, contents }) => {
      const { messages = [] } = contents ?? {};
      const id = requestId(messages);
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
    },
    refused: (reply, arrived) => {
      const isResponse = !(reply instanceof Refused);
      if (isResponse && reply.status < 400) return;
      const reason = isResponse ? "auth-response" : reply.refusal.reason;
      const { status, code: errorCode } = isResponse ? { status: reply.status, code: undefined } : reply.form;
      reportRefused(onRefused, { ...describe(arrived), reason, status, errorCode }, report);
    },
  };
}

/** Returns what is known of a request that is refused. */
function describe(arrived: Arrived): Omit<RefusedRequest, "reason" | "status" | "errorCode"> {
  const { request, env, execution, principal, startedAtMs, contents } = arrived;
  const { headers } = request;
  const messages = (contents?.messages ?? []).flatMap((parsed) =>
    parsed.kind === "request" || parsed.kind === "notification" ? [parsed.message] : [],
  );
  const protocolVersion = headers.get("MCP-Protocol-Version") ?? readVersion(messages[0]?.params);
  const era = contents?.era ?? findVersion(protocolVersion ?? "")?.era;
  return {
    request,
    env,
    execution,
    principal,
    startedAtMs,
    era,
    protocolVersion,
    sessionId: era === "modern" ? undefined : (arrived.sessionId ?? headers.get("Mcp-Session-Id") ?? undefined),
    messages: messages.map(describeMessage),
  };
}

/** Returns the version in the params of a modern request, or of `initialize`. */
function readVersion(params: JsonObject | undefined): string | undefined {
  const version = readMeta(params)[META.protocolVersion] ?? params?.protocolVersion;
  return typeof version === "string" ? version : undefined;
}

function describeMessage(message: JSONRPCRequest | JSONRPCNotification): RefusedMessage {
  const { arguments: _, requestId: id, ...subject } = describeSubject({ id: "", ...message });
  return "id" in message ? { ...subject, requestId: id } : subject;
}

/**
 * Returns the refusal of a plugin. The result of a plugin is checked, because its type may be `any`, and only undefined
 * may let the request pass.
 */
function refusedBy(refusal: unknown, id: RequestId | undefined): Refused {
  const refused = refuse(refusal as Refusal, id);
  if (isObject(refusal) && typeof refusal.reason === "string") {
    const { status = 0, code, message } = { ...refused.form };
    // Creating the response checks the rest of the form, such as the names of headers.
    if (status >= 400 && Number.isInteger(code) && typeof message === "string" && refused.toResponse()) return refused;
  }
  const text = `authorize returned ${describeType(refusal)}. Return undefined, or { reason, form: { status, code, message } } with a status of at least 400.`;
  throw new KitError("options-invalid", text);
}

/** Calls all hooks with a refused request, even if one of them fails. Never throws. */
export function reportRefused(
  hooks: StageHooks["onRefused"],
  refused: RefusedRequest,
  report: (error: unknown, method: string) => unknown,
): void {
  for (const hook of hooks) {
    runDetached(
      () => hook(refused),
      (error) => void report(error, "(onRefused)"),
      (work) => refused.execution.waitUntil(work),
    );
  }
}
