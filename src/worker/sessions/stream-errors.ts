import { encodeError, type RequestId } from "../../core/protocol/jsonrpc.ts";
import { INTERRUPTED_CALL } from "../../core/serve/interrupted-call.ts";

/** Returns the error response for a call that was interrupted by a restart of its object. */
export function interrupted(request: RequestId): string {
  return encodeError(request, INTERRUPTED_CALL);
}

/** Returns the error response for a call that has ended, but whose response cannot be stored. */
export function unstored(request: RequestId): string {
  const message = "The call has ended, but its answer could not be stored.";
  return encodeError(request, { ...INTERRUPTED_CALL, message });
}
