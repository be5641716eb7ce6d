/**
 * Faults of callers, and requests that are refused.
 *
 * @module
 */
import type { Finding } from "../entry.ts";
import { type Examined, placeOf } from "./examined.ts";

/** Names why a request was refused, as far as its headers say. */
export function findRefusal({ entry }: Examined): Finding[] {
  const status = entry.facts.http?.status;
  if (status === 401) return findTokenFault(entry.token, entry.endpoint);
  if (status !== 403) return [];
  const challenge = headerOf(entry.responseHeaders, "www-authenticate") ?? "";
  const scopes = /scope="([^"]*)"/.exec(challenge)?.[1];
  if (/insufficient_scope/.test(challenge)) {
    return [
      {
        what: `The token lacks a scope${scopes === undefined ? "" : `. Needed: ${scopes}`}`,
        where: "WWW-Authenticate",
        why: "The client must ask for these scopes when it signs in. If it does not, look at the scopes in the metadata of the resource.",
      },
    ];
  }
  const origin = headerOf(entry.requestHeaders, "origin");
  if (origin !== undefined && entry.outcomeText?.includes("origin") === true) {
    return [
      {
        what: `The page at ${origin} may not call this server`,
        where: "Origin",
        why: `Add it to the option allowedOrigins of edge(), if it is yours: allowedOrigins: ["${origin}"].`,
      },
    ];
  }
  return [];
}

function findTokenFault(token: Examined["entry"]["token"], endpoint: Examined["entry"]["endpoint"]): Finding[] {
  if (!token) return [];
  const { audiences, isExpired } = token;
  if (isExpired) {
    return [
      { what: "The token has expired", where: "Authorization", why: "The client must refresh it before it expires." },
    ];
  }
  if (audiences.length === 0 || audiences.some((audience) => endpoint.includes(audience.replace(/\/$/, "")))) return [];
  return [
    {
      what: `The token is for ${audiences.join(", ")}, and not for this server`,
      where: "Authorization, claim aud",
      why: `The client must ask for a token with resource=${endpoint.at(-1) ?? ""}. If the audience is another name of this server, set the option audience of bearer().`,
    },
  ];
}

/** Finds a client that comes back before it may. */
export function findIgnoredRetryAfter({ entry }: Examined): Finding[] {
  const { early } = entry;
  if (!early) return [];
  return [
    {
      what: `The client did not wait: it was told to come back after ${early.toldMs / 1_000} s, and came after ${Math.round(early.waitedMs)} ms`,
      where: "Retry-After",
      why: "It is refused again, and each refusal costs a request. The client must wait as long as Retry-After says.",
    },
  ];
}

/** Finds a client that opens a session for each call. */
export function findSessionForEach({ entry }: Examined): Finding[] {
  const { sessionsOpened } = entry;
  if (sessionsOpened === undefined) return [];
  return [
    {
      what: `${sessionsOpened} sessions of one client, with at most one call each`,
      where: entry.facts.client ? `${entry.facts.client.name} ${entry.facts.client.version}` : "the client",
      why: "Each session takes two more requests. The client should keep its session, or speak 2026-07-28, which has none.",
    },
  ];
}

/** Says why a stream has ended without a result. */
export function findCut({ entry }: Examined): Finding[] {
  if (entry.kind !== "request") return [];
  // A subscription has no result, and ends when its client closes it.
  if (entry.outcome === "cut-by-client" && entry.facts.method !== "subscriptions/listen") {
    return [
      {
        what: "The client has closed the connection before the result",
        where: entry.facts.client ? `${entry.facts.client.name} ${entry.facts.client.version}` : "the client",
        why: "It has cancelled the call, or its time limit has passed. In a session, it can resume the stream with Last-Event-ID.",
      },
    ];
  }
  // A session tells its client that a call was interrupted.
  const isInterrupted = entry.outcome === "error" && entry.outcomeText?.includes("interrupted") === true;
  if (entry.outcome !== "cut-by-server" && !isInterrupted) return [];
  // The client has continued the stream on another connection.
  if (!isInterrupted && entry.related.some(({ why }) => why === "resumes")) return [];
  const broken = entry.invocations.find(({ onset, outcome }) => {
    return onset.isObject && ((outcome !== undefined && outcome !== "ok") || onset.closeCode === 1006);
  });
  return [
    {
      what: broken
        ? `The object was reset during the call (${broken.outcome ?? "close code 1006"})`
        : "The response has ended without a result",
      where: broken ? placeOf(broken) : "the Worker",
      why: "What the handler had done so far is lost, unless replay() continues the call. The client may call again, if the call may run twice.",
    },
  ];
}

function headerOf(headers: readonly (readonly [string, string])[] | undefined, name: string): string | undefined {
  return headers?.find(([each]) => each.toLowerCase() === name)?.[1];
}
