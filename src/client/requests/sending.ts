import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Deadline } from "../basics/deadline.ts";
import type { RequestOptions } from "./request-options.ts";
import type { Tool } from "./results.ts";

/** Parts of a request that its method determines. */
export interface RequestParts {
  /** Computed before each attempt, because a list may have changed them. */
  readonly headers?: (() => Readonly<Record<string, string>>) | undefined;
  /** Called after the server has refused the headers. Fetches again what they are computed from, so that the request can be sent once more. */
  readonly refresh?: (() => Promise<unknown>) | undefined;
  /** The tool that is called, if it was listed. */
  readonly tool?: (() => Pick<Tool, "annotations"> | undefined) | undefined;
}

/** A request on its way. */
export interface Sending {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly options: RequestOptions;
  readonly parts: RequestParts;
  readonly deadline: Deadline;
  /** Whether an earlier attempt or round may have run. */
  mayHaveRun?: boolean;
}
