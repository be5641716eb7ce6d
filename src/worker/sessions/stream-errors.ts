import { INTERRUPTED_CALL } from "../../core/protocol/interrupted-call.ts";
import { encodeError, type RequestId } from "../../core/protocol/jsonrpc.ts";

/** Returns the answer to a call whose object was lost. */
export function interrupted(request: RequestId): string {
  return encodeError(request, INTERRUPTED_CALL);
}

/** Returns the answer to a call that has ended, but whose answer cannot be stored. */
export function unstored(request: RequestId): string {
  const message = "The call has ended, but its answer could not be stored.";
  return encodeError(request, { ...INTERRUPTED_CALL, message });
}
