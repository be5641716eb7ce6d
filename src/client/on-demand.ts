/**
 * Code that few clients need, loaded on demand. It is one module, so that bundlers create one file for it.
 *
 * @module
 */
export { checkOptions } from "../core/protocol/check-options.ts";
export { listParamHeaders } from "../core/protocol/param-headers.ts";
export { AssumedServer } from "./connection/assumed-server.ts";
export { ListenStream } from "./connection/listen-stream.ts";
export { Recovery } from "./connection/recovery.ts";

export { Reopening } from "./connection/reopening.ts";
export { restoreSession } from "./connection/restore-session.ts";
export { resumeRequest } from "./connection/resume.ts";
export { Answering } from "./questions/answering.ts";
export { checkOutput } from "./requests/check-output.ts";
export {
  nameMissing,
  notHttp,
  tooManyRounds,
  toUnsupportedError,
  versionsInvalid,
} from "./requests/refused-requests.ts";
export { linkOverHttpSse } from "./transports/http-sse.ts";
export { PipeOpener } from "./transports/pipe-opener.ts";
export { toRefusal } from "./transports/refusals.ts";
