import type { JsonObject } from "../core/protocol/jsonrpc.ts";

/** The results that depend on answers to questions, so that they must not be cached. */
export const FROM_ROUNDS = new WeakSet<JsonObject>();
