/**
 * Running author code.
 *
 * @module
 */
import { type Call, HandlerContext, type OwnContents } from "./context.ts";
import type { JSONRPCRequest } from "./jsonrpc.ts";
import { metaOf } from "./lifecycle.ts";
import { findReader } from "./reading.ts";
import { toContents } from "./resource.ts";
import type { Round } from "./rounds.ts";
import type { McpServer } from "./server.ts";

/** Runs author code with a context of its own, which is inert once the code has settled. */
export async function withContext<Result>(
  server: McpServer<never>,
  request: JSONRPCRequest,
  call: Call<never>,
  signal: AbortSignal,
  round: Round,
  work: (ctx: HandlerContext<never>) => Result | Promise<Result>,
): Promise<Result> {
  const { rules } = call.client;
  const readOwn = async (uri: string, ctx: HandlerContext<never>) => {
    const found = findReader(server, uri, rules);
    // Each is one or the other: toContents makes no third kind.
    return toContents(await found.read(ctx), uri, found.mimeType, rules) as unknown as OwnContents;
  };
  const context = new HandlerContext(call, { id: request.id, meta: metaOf(request.params), round }, signal, readOwn);
  const { replay } = round;
  try {
    // What is suspended goes on as far as the engine: handlers end in between with what they return.
    return await (replay ? Promise.race([work(context), replay.suspended as Promise<never>]) : work(context));
  } finally {
    HandlerContext.close(context);
  }
}
