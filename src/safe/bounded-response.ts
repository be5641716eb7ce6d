/**
 * Limits the size and the duration of a response while its body is read.
 *
 * @module
 */
import { RefusedError } from "./refused.ts";

/** The limits of a response. */
export interface ResponseLimits {
  readonly bytesMax: number;
  /** The signal that aborts the request. Combines `timeout` with the signal of the caller. */
  readonly signal: AbortSignal;
  /** Aborts the request when its time limit is exceeded. */
  readonly timeout: AbortSignal;
  readonly timeoutMs: number;
  /** Called when the body has ended, or if there is no body. The timer of `timeout` is then no longer needed. */
  readonly end: () => void;
}

/** Statuses whose responses have no body. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * Returns a copy of a response whose body fails with a {@link RefusedError} when it exceeds the size or the time limit.
 *
 * @throws {RefusedError} `too-large` if `Content-Length` already exceeds the limit.
 */
export async function boundResponse(response: Response, limits: ResponseLimits): Promise<Response> {
  const { status, statusText, url } = response;
  const headers = new Headers(response.headers);
  // The response to a HEAD request has a Content-Length, but no body.
  if (response.body && Number(headers.get("Content-Length")) > limits.bytesMax) {
    await response.body.cancel();
    throw tooLarge(limits.bytesMax);
  }
  // Both headers describe the compressed body, and `fetch` has decompressed it.
  if (headers.has("Content-Encoding")) for (const name of ["Content-Encoding", "Content-Length"]) headers.delete(name);
  const body = response.body && !WITHOUT_BODY.has(status) ? boundBody(response.body, limits) : null;
  if (!body) limits.end();
  const bounded = new Response(body, { status, statusText, headers });
  return Object.defineProperty(bounded, "url", { value: url, configurable: true });
}

function boundBody(body: ReadableStream<Uint8Array>, limits: ResponseLimits): ReadableStream<Uint8Array> {
  const { bytesMax, end } = limits;
  const reader = body.getReader();
  let bytes = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          end();
          return controller.close();
        }
        bytes += value.byteLength;
        if (bytes > bytesMax) throw tooLarge(bytesMax);
        controller.enqueue(value);
      } catch (error) {
        end();
        controller.error(toFailure(error, limits));
        await reader.cancel(error).catch(() => undefined);
      }
    },
    cancel: (reason) => {
      end();
      return reader.cancel(reason);
    },
  });
}

function tooLarge(bytesMax: number): RefusedError {
  return new RefusedError("too-large", `The response has more than ${bytesMax} bytes.`);
}

/** Returns the reason why a request was aborted, which runtimes replace with their own errors, or else the error itself. */
export function toFailure(error: unknown, { signal, timeout, timeoutMs }: ResponseLimits): unknown {
  if (error instanceof RefusedError || !signal.aborted) return error;
  return timeout.aborted ? new RefusedError("timeout", `The request took longer than ${timeoutMs} ms.`) : signal.reason;
}
