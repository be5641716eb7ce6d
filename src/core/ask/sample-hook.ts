/**
 * The hook `onSample` and the record that it receives.
 *
 * @module
 */
import type { ClientFacts, Principal } from "../protocol/client-facts.ts";
import type { HookTools } from "../protocol/execution.ts";
import type { RequestId } from "../protocol/jsonrpc.ts";
import type { QuestionError } from "./question-errors.ts";

/** A finished sampling request to a client. */
export interface SampleRecord<Env = unknown> extends HookTools<Env> {
  /** The request whose handler asked. */
  readonly requestId: RequestId;
  /** The client that was asked. */
  readonly client: ClientFacts;
  /** The principal that the request acts for; undefined if it is anonymous. */
  readonly principal: Principal | undefined;
  /** The name of the tool that asked. */
  readonly tool?: string;
  /** The name of the prompt that asked. */
  readonly prompt?: string;
  /** The maximum number of tokens that the request allowed. */
  readonly maxTokens: number;
  /** The model that the client's answer names. */
  readonly model?: string;
  /** Why the model stopped, according to the client's answer. */
  readonly stopReason?: string;
  /**
   * `cancelled`: the call ended before the client answered. Apart from `answered`, the other values are reasons of
   * `QuestionError`.
   */
  readonly outcome: "answered" | "cancelled" | QuestionError["reason"];
  /** The time from the request to the answer, in milliseconds. */
  readonly durationMs: number;
}

/**
 * Called when a sampling request has ended. A returned promise is kept running as by `waitUntil`; the client does not
 * wait for it.
 */
export type SampleHook<Env = unknown> = (record: SampleRecord<Env>) => void | Promise<void>;
