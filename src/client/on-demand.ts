/**
 * What few clients need, imported on demand. One module, so that bundlers make one file of it.
 *
 * @module
 */
export { checkOptions } from "../core/protocol/check-options.ts";
export { paramHeadersOf } from "../core/protocol/param-headers.ts";
export { Answering } from "./answering.ts";
export { Assumption } from "./assumption.ts";
export { checkOutput } from "./check-output.ts";
export { linkOverHttpSse } from "./http-sse.ts";
export { ListenStream } from "./listen-stream.ts";
export { PipeOpener } from "./pipe-opener.ts";
export { Recovery } from "./recovery.ts";
export { refusalOf } from "./refusals.ts";
export { Reopening } from "./reopening.ts";
export { restoreSession } from "./restore-session.ts";
export { resumeRequest } from "./resume.ts";
export { noHttp, tooManyRounds, unnamed, unsupported } from "./unsupported.ts";
