import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Deadline } from "../basics/deadline.ts";
import type { RequestOptions } from "./request-options.ts";
import type { Tool } from "./results.ts";

/** Parts of a request that depend on its method. */
export interface RequestParts {
  /** Returns the headers. Called before each attempt, because a new list of tools may have changed them. */
  readonly headers?: (() => Readonly<Record<string, string>>) | undefined;
  /** Called after the server has refused the headers. Reads the list of tools again, so that the request can be sent once more. */
  readonly refresh?: (() => Promise<unknown>) | undefined;
  /** Returns the called tool, if it was listed. */
  readonly tool?: (() => Pick<Tool, "annotations"> | undefined) | undefined;
}

/** A request that has no result yet. */
export interface RequestInProgress {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly options: RequestOptions;
  readonly parts: RequestParts;
  readonly deadline: Deadline;
  /** Whether the server may have run an earlier attempt or round. */
  mayHaveRun?: boolean;
}
