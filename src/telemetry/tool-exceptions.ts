/**
 * The exceptions of tools, which hooks do not see: the result of the call has only a reference, which the report of the exception
 * has too.
 *
 * @module
 */
import type { RequestData } from "../core/define/hook-types.ts";
import { REGISTRY } from "../core/define/server.ts";
import type { Reporter } from "../core/protocol/error-reports.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";

/** The maximum number of exceptions of a server that are kept until their calls have ended, which is at once. @limit internal */
const KEPT_MAX = 1_000;

/** The exceptions that a server has reported while calls ran. */
interface Watched {
  /** The exceptions by their reference. */
  readonly kept: Map<string, unknown>;
  /** The number of calls that run. */
  running: number;
}

/** The servers whose reports are watched. A server that is used by several recordings is watched once. */
const servers = new WeakMap<Reporter, Watched>();

/**
 * Watches the exceptions that a server reports while a call of a tool runs. Returns a function that must be called once, with the
 * result of the call if there is one. It returns the exception to which the result refers, in a list; otherwise an empty list.
 */
export function watchExceptions<Env>(data: RequestData<Env>): (result?: JsonObject) => readonly unknown[] {
  const { [REGISTRY]: server } = data as { readonly [REGISTRY]?: Reporter };
  if (data.tool === undefined || !server) return () => [];
  const watched = servers.get(server) ?? watch(server);
  const { kept } = watched;
  watched.running += 1;
  return (result) => {
    const reference = result ? referenceOf(result) : "";
    const found = kept.has(reference) ? [kept.get(reference)] : [];
    kept.delete(reference);
    watched.running -= 1;
    if (watched.running === 0) kept.clear();
    return found;
  };
}

function watch(server: Reporter): Watched {
  const watched: Watched = { kept: new Map(), running: 0 };
  servers.set(server, watched);
  const { kept } = watched;
  const report = server.report.bind(server);
  server.report = (error, subject, runtime) => {
    const correlationId = report(error, subject, runtime);
    if (watched.running > 0) kept.set(correlationId, error);
    if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value ?? "");
    return correlationId;
  };
  return watched;
}

/** Returns the reference at the end of the text of an error result; an empty string if there is none. */
function referenceOf({ isError, content }: JsonObject): string {
  const [first] = isError === true && Array.isArray(content) ? content : [];
  const text = isObject(first) && typeof first.text === "string" ? first.text : "";
  return /Reference: ([0-9a-f-]{36})$/.exec(text)?.[1] ?? "";
}
