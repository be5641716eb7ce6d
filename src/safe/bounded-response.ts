/**
 * Limits the size of a response while its body arrives.
 *
 * @module
 */
import { RefusedError } from "./refused.ts";

/** The limits of a response. */
export interface ResponseLimits {
  readonly bytesMax: number;
  /** Aborts the request. */
  readonly signal: AbortSignal;
  /** Aborts the request when its time is over; a source of `signal`. */
  readonly timeout: AbortSignal;
  readonly timeoutMs: number;
  /** Called when the body has ended or there is none: `timeout` need not abort any more. */
  readonly end: () => void;
}

/** Statuses whose responses have no body. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * Returns the response with a body that fails with a {@link RefusedError} when it is too large or too late.
 *
 * @throws {RefusedError} `too-large` if `Content-Length` already exceeds the limit.
 */
export async function boundResponse(response: Response, limits: ResponseLimits): Promise<Response> {
  const { status, statusText, url } = response;
  const headers = new Headers(response.headers);
  // The answer to a HEAD has the length of a body, but none.
  if (response.body && Number(headers.get("Content-Length")) > limits.bytesMax) {
    await response.body.cancel();
    throw tooLarge(limits.bytesMax);
  }
  // They describe the compressed body.
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
  return new RefusedError("too-large", `The answer has more than ${bytesMax} bytes.`);
}

/** Returns the error of a request: the reason why it was aborted, which runtimes hide behind errors of their own. */
export function toFailure(error: unknown, { signal, timeout, timeoutMs }: ResponseLimits): unknown {
  if (error instanceof RefusedError || !signal.aborted) return error;
  return timeout.aborted ? new RefusedError("timeout", `The request took longer than ${timeoutMs} ms.`) : signal.reason;
}
