import type { JsonObject } from "../../core/protocol/jsonrpc.ts";

/** The maximum number of questions of one call, or of one task, that are answered at the same time. Other questions wait. */
export const QUESTIONS_PER_CALL = 16;

/** The results that must not be cached, because they depend on answers to questions. */
export const UNCACHEABLE = new WeakSet<JsonObject>();
