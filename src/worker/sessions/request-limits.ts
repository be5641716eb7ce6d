import type { Refusal } from "../../http/refusal.ts";
import { tooMany } from "../../http/session-refusals.ts";
import type { SessionHost } from "./session-host.ts";

/** Returns the refusal if a session cannot serve this many additional requests now, or undefined if it can. */
export function refuseRequests(
  { caps, resumeMs }: SessionHost,
  running: number,
  asked: number,
  isFull: boolean,
): Refusal | undefined {
  if (running + asked > caps.inFlightMax) {
    const what = `${running} of ${caps.inFlightMax} requests are in flight (sessions(): inFlightMax)`;
    return tooMany(what, 1);
  }
  if (!isFull) return undefined;
  const what = `the logs of this session hold ${caps.sessionBytesMax} bytes (sessions(): sessionBytesMax)`;
  return tooMany(what, Math.ceil(resumeMs / 1000));
}
