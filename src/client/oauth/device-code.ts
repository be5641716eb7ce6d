import { pause } from "../../core/basics/pause.ts";
import { OAuthError } from "./errors.ts";
import type { Grant, Granted, GrantRequest } from "./grant.ts";
import { checkAddress, findObject, request as send } from "./guard.ts";
import { omitEmpty, toFailure } from "./token-request.ts";

/** The URL to open on another device, and the code to enter there. */
export interface DevicePrompt {
  /** The URL to open. It begins with https://, or leads to this machine. */
  readonly url: string;
  /** The code to enter there: at most 64 visible characters. */
  readonly code: string;
  /** The URL with the code filled in, for example for a QR code. Undefined if the server does not provide it. */
  readonly completeUrl: string | undefined;
  /** The lifetime of the code, in milliseconds. At most 30 minutes. */
  readonly expiresInMs: number;
}

const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";
/** The default time between two token requests, and the time that each `slow_down` adds to it (RFC 8628, section 3.5). */
const INTERVAL_MS = 5_000;
/** The bounds of the times from the server. They prevent a flood of requests and an endless wait. */
const [INTERVAL_MIN_MS, INTERVAL_MAX_MS] = [1_000, 60_000];
const EXPIRES_MAX_MS = 30 * 60_000;
/** The default lifetime of a code. */
const EXPIRES_MS = 10 * 60_000;
/** The maximum length of a code. The codes of existing servers have about ten characters. */
const CODE_CHARACTERS_MAX = 64;
/** Matches the characters that are removed from a code: all but letters, digits, punctuation, symbols and spaces. */
const NOT_SHOWN = /[^\p{L}\p{N}\p{P}\p{S} ]|\p{Default_Ignorable_Code_Point}/gu;

/**
 * Returns a grant with which the user signs in on another device, for programs without a browser.
 *
 * @param show Shows the URL and the code to the user. The first token request is sent when it has resolved.
 * @see RFC 8628
 */
export function deviceCode(show: (prompt: DevicePrompt) => void | Promise<void>): Grant {
  return {
    isInteractive: true,
    async run(request) {
      const client = await request.client(undefined, DEVICE_CODE);
      const { deviceCode: code, intervalMs, ...prompt } = await authorize(request, client.id);
      await show(prompt);
      return { client, response: await poll(request, client, code, intervalMs, prompt.expiresInMs) };
    },
  };
}

/** Returns the times in a response in milliseconds, within the bounds. @see RFC 8628, section 3.2 */
export function readTimes({ expires_in: expiresIn, interval }: Readonly<Record<string, unknown>>) {
  const expiresInMs = typeof expiresIn === "number" ? expiresIn * 1_000 : EXPIRES_MS;
  const intervalMs = typeof interval === "number" ? interval * 1_000 : INTERVAL_MS;
  return {
    expiresInMs: Math.min(EXPIRES_MAX_MS, expiresInMs),
    intervalMs: Math.min(INTERVAL_MAX_MS, Math.max(INTERVAL_MIN_MS, intervalMs)),
  };
}

async function authorize({ net, server, resource, scope }: GrantRequest, clientId: string) {
  const what = "device_authorization_endpoint";
  const response = await send(net, what, server.device_authorization_endpoint, {
    method: "POST",
    headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(omitEmpty({ client_id: clientId, resource, scope })).toString(),
  });
  const found = (await findObject(response)) ?? {};
  const { device_code: deviceCode, user_code: code, verification_uri: url } = found;
  if (typeof deviceCode !== "string" || typeof code !== "string" || typeof url !== "string") {
    const error = typeof found.error === "string" ? found.error : undefined;
    const text = `${server.issuer} issued no device code: ${response.status} ${error ?? ""}.`;
    throw new OAuthError("token-refused", text, { error, status: response.status });
  }
  const complete = found.verification_uri_complete;
  const isComplete = typeof complete === "string";
  // Both URLs are checked, because a program may open them in a browser.
  return {
    deviceCode,
    code: code
      .slice(0, 2 * CODE_CHARACTERS_MAX)
      .replace(NOT_SHOWN, "")
      .slice(0, CODE_CHARACTERS_MAX),
    url: (await checkAddress(net, "verification_uri", url)).href,
    completeUrl: isComplete ? (await checkAddress(net, "verification_uri_complete", complete)).href : undefined,
    ...readTimes(found),
  };
}

async function poll(
  { token, signal, resource, server }: GrantRequest,
  client: Granted["client"],
  device_code: string,
  firstIntervalMs: number,
  expiresInMs: number,
): Promise<Granted["response"]> {
  const endsAtMs = Date.now() + expiresInMs;
  let intervalMs = firstIntervalMs;
  while (Date.now() < endsAtMs) {
    await pause(intervalMs, signal);
    signal.throwIfAborted();
    try {
      return await token(client, DEVICE_CODE, { device_code, resource });
    } catch (error) {
      const code = error instanceof OAuthError ? error.error : undefined;
      if (code === "slow_down") intervalMs += INTERVAL_MS;
      else if (code !== "authorization_pending") throw toFailure(error, server.issuer, []);
    }
  }
  throw new OAuthError("expired", `The user did not enter the code within ${expiresInMs} ms.`);
}
