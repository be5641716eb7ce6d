import type { JsonObject } from "../../core/protocol/jsonrpc.ts";

/** How many questions of one call, or of one task, are answered at the same time. The others wait. */
export const QUESTIONS_PER_CALL = 16;

/** The results that depend on answers to questions, so that they must not be cached. */
export const FROM_ROUNDS = new WeakSet<JsonObject>();
