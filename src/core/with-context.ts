/**
 * Running author code.
 *
 * @module
 */
import { type Call, HandlerContext, type OwnContents } from "./context.ts";
import type { JSONRPCRequest } from "./jsonrpc.ts";
import { findReader } from "./reading.ts";
import { toContents } from "./resource.ts";
import type { Round } from "./rounds.ts";
import type { McpServer } from "./server.ts";

async function readOwn(server: McpServer<never>, uri: string, ctx: HandlerContext<never>): Promise<OwnContents> {
  const { rules } = ctx.client;
  const found = findReader(server, uri, rules);
  // Each is one or the other: toContents makes no third kind.
  return toContents(await found.read(ctx), uri, found.mimeType, rules) as unknown as OwnContents;
}

/** Runs author code with a context of its own, which is inert once the code has settled. */
export async function withContext<Result>(
  server: McpServer<never>,
  request: JSONRPCRequest,
  call: Call<never>,
  round: Round,
  work: (ctx: HandlerContext<never>) => Result | Promise<Result>,
): Promise<Result> {
  const context = new HandlerContext(call, request, round, (uri, ctx) => readOwn(server, uri, ctx));
  const { replay } = round;
  try {
    // What is suspended goes on as far as the engine: handlers end in between with what they return.
    return await (replay ? Promise.race([work(context), replay.suspended as Promise<never>]) : work(context));
  } finally {
    HandlerContext.close(context);
  }
}
