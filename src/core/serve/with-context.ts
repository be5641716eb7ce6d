/**
 * Runs code of the author.
 *
 * @module
 */

import { memo } from "../basics/memo.ts";
import { HandlerContext, type OwnContents } from "../define/handler-context.ts";
import type { Registry } from "../define/registry.ts";
import { toContents } from "../define/resource.ts";
import { KitError } from "../protocol/errors.ts";
import type { Ending, StartTimer } from "../protocol/execution.ts";
import type { RequestContext } from "../run/request-context.ts";
import type { Round } from "../run/round.ts";
import { requireReader } from "./find-resource.ts";

async function readOwn(registry: Registry, uri: string, ctx: HandlerContext): Promise<OwnContents> {
  const { rules } = ctx.client;
  const found = requireReader(registry, uri, rules);
  // `toContents` returns only these two kinds of contents, so the cast is safe.
  return toContents(await found.read(ctx), uri, found.mimeType, rules) as unknown as OwnContents;
}

/**
 * Whether the author of a server was warned, by the name of the server, because a server function may create a server
 * for each request.
 */
const warnings = memo((_name) => ({ isGiven: false }));

/** Reports a step whose result is not stored, once for each server. */
function warnOfStep({ registry, request: { method, id }, onError }: RequestContext, step: string): void {
  const warning = warnings(registry.options.name);
  if (warning.isGiven) return;
  warning.isGiven = true;
  const text = `ctx.step(${JSON.stringify(step)}) does not store its result here, so it may run again. In tools, prompts and resources, add replay() or durable().`;
  registry.report(new KitError("step-not-kept", text), { method, requestId: id }, onError);
}

/** Runs code of the author with a new context, which is closed when the code has settled. */
export async function withContext<Result>(
  context: RequestContext,
  round: Round,
  work: (ctx: HandlerContext) => Result | Promise<Result>,
): Promise<Result> {
  const ctx = new HandlerContext(context, round, {
    read: (uri, reading) => readOwn(context.registry, uri, reading),
    onStepNotKept: (step) => warnOfStep(context, step),
  });
  const { replay } = round;
  try {
    // A suspended run ends here; its handler never continues.
    return await (replay ? Promise.race([work(ctx), replay.suspended as Promise<never>]) : work(ctx));
  } finally {
    HandlerContext.close(ctx);
  }
}

/** A run of a handler that has a time limit. */
export interface TimedRun {
  /** The description of the work, as the subject of the error message. */
  readonly what: string;
  /** 0 or Infinity means no limit. */
  readonly timeoutMs: number;
  readonly round: Round;
}

/**
 * Like {@link withContext}, within a time limit. When it is exceeded, the signal aborts and the result is ignored.
 *
 * @throws {KitError} `timeout`.
 */
export function withTimedContext<Result>(
  context: RequestContext,
  { what, timeoutMs, round }: TimedRun,
  work: (ctx: HandlerContext) => Result | Promise<Result>,
): Promise<Result> {
  return withinTime(what, timeoutMs, context, (ending, passed) => {
    if (!passed) return withContext(context, round, work);
    // Inside the context, so that the context is closed when the time limit is exceeded.
    return withContext({ ...context, ending }, round, (ctx) => Promise.race([work(ctx), passed]));
  });
}

/**
 * Runs code of the author within a time limit.
 *
 * @param run Receives the ending of its work, and a promise that rejects when the limit is exceeded (undefined without
 *   a limit).
 */
export function withinTime<Result>(
  what: string,
  timeoutMs: number,
  { ending: given, startTimer = startRuntimeTimer }: Pick<RequestContext, "ending" | "startTimer">,
  run: (ending: Ending, passed: Promise<never> | undefined) => Promise<Result>,
): Promise<Result> {
  const isBounded = timeoutMs > 0 && timeoutMs < Infinity;
  if (!isBounded) return run(given, undefined);
  const controller = new AbortController();
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const stop = startTimer(timeoutMs, () => {
    const error = new KitError("timeout", `${what} did not finish within ${timeoutMs} ms.`);
    // Rejected first, so that the handler's reaction to the abort cannot become the result.
    reject(error);
    controller.abort(error);
  });
  // The limit is already exceeded if this run continues an earlier run that has used up the time.
  if (controller.signal.aborted) return passed;
  // Created lazily, because joining signals is expensive and most handlers do not use it.
  let signal: AbortSignal | undefined;
  const ending: Ending = {
    get signal() {
      signal ??= AbortSignal.any([given.signal, controller.signal]);
      return signal;
    },
  };
  return run(ending, passed).finally(stop);
}

const startRuntimeTimer: StartTimer = (timeoutMs, end) => {
  const timer = setTimeout(end, timeoutMs);
  return () => clearTimeout(timer);
};
