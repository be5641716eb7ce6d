/** Sends one request of 2026-07-28 over HTTP, every part of which a test can change. */
import {
  CAPABILITIES_KEY,
  CONTENT,
  isMembers,
  type Members,
  meta,
  request,
  standardHeaders,
} from "../http/messages.ts";
import { DELIBERATELY_BAD } from "../oracle/http-tap.ts";
import { type ReadAnswer, readAnswer } from "../worker/client.ts";

export interface ModernOptions {
  readonly id?: string | number;
  readonly capabilities?: Members;
  /** Merged into the `_meta` of every request; `undefined` removes a member. */
  readonly meta?: Members;
  /** Merged into the headers that the message requires; `undefined` removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly token?: string;
  /** The message is intentionally invalid, so the oracle does not judge it. */
  readonly bad?: boolean;
}

let ids = 0;

/** Sends a request and reads the response to its end. */
export function modern(
  url: string,
  method: string,
  params: Members = {},
  options: ModernOptions = {},
): Promise<ReadAnswer> {
  ids += 1;
  const { id = `request ${ids}`, capabilities = {}, token, bad = false } = options;
  const _meta = meta({ [CAPABILITIES_KEY]: capabilities, ...options.meta });
  const message = request(method, { ...params, _meta }, id);
  const headers = {
    ...CONTENT,
    ...standardHeaders(message),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(bad ? { [DELIBERATELY_BAD]: "1" } : {}),
    ...options.headers,
  };
  const lines = Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    return typeof value === "string" ? [[name, value]] : [];
  });
  return readAnswer(fetch(url, { method: "POST", headers: lines, body: JSON.stringify(message) }));
}

/** Returns the result of a response. @throws {Error} with the response if it has none. */
export function resultOf({ messages, raw }: ReadAnswer): Members {
  const result = messages.at(-1)?.result;
  if (isMembers(result)) return result;
  throw new Error(`no result: ${raw}`);
}

/** Returns the error of a response. @throws {Error} with the response if it has none. */
export function errorOf({ messages, raw }: ReadAnswer): Members {
  const error = messages.at(-1)?.error;
  if (isMembers(error)) return error;
  throw new Error(`no error: ${raw}`);
}
