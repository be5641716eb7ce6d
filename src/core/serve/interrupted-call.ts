/**
 * The error of a call whose run was lost.
 *
 * @module
 */
import * as ErrorCode from "../protocol/error-codes.ts";
import type { JSONRPCErrorObject } from "../protocol/jsonrpc.ts";

/** -32603 for a call whose run was lost, for example because its object was reset. */
export const INTERRUPTED_CALL: JSONRPCErrorObject = {
  code: ErrorCode.InternalError,
  message: "The call was interrupted because the server restarted. It may have had effects.",
  data: { reason: "interrupted" },
};
