/**
 * What few clients need, imported on demand. One module, so that bundlers make one file of it.
 *
 * @module
 */
export { checkOptions } from "../core/protocol/check-options.ts";
export { listParamHeaders } from "../core/protocol/param-headers.ts";
export { ListenStream } from "./connection/listen-stream.ts";
export { Recovery } from "./connection/recovery.ts";
export { RememberedServer } from "./connection/remembered-server.ts";
export { Reopening } from "./connection/reopening.ts";
export { restoreSession } from "./connection/restore-session.ts";
export { resumeRequest } from "./connection/resume.ts";
export { Answering } from "./questions/answering.ts";
export { checkOutput } from "./requests/check-output.ts";
export { noHttp, tooManyRounds, unnamed, unsupported } from "./requests/refused-requests.ts";
export { linkOverHttpSse } from "./transports/http-sse.ts";
export { PipeOpener } from "./transports/pipe-opener.ts";
export { toRefusal } from "./transports/refusals.ts";
