/**
 * Finds faults of callers, and explains refused requests.
 *
 * @module
 */
import type { Finding } from "../entry.ts";
import { type Examined, placeOf } from "./examined.ts";

/** Explains why a request was refused, if its headers contain the reason. */
export function findRefusal({ entry }: Examined): Finding[] {
  const status = entry.facts.http?.status;
  if (status === 401) return findTokenFault(entry.token, entry.endpoint);
  if (status !== 403) return [];
  const challenge = headerOf(entry.responseHeaders, "www-authenticate") ?? "";
  const scopes = /scope="([^"]*)"/.exec(challenge)?.[1];
  if (/insufficient_scope/.test(challenge)) {
    return [
      {
        what: `The token lacks a scope${scopes === undefined ? "" : `. Required: ${scopes}`}`,
        where: "WWW-Authenticate",
        why: "The client must request these scopes when the user signs in. If it does not, check the scopes in the protected resource metadata.",
      },
    ];
  }
  const origin = headerOf(entry.requestHeaders, "origin");
  if (origin !== undefined && entry.outcomeText?.includes("origin") === true) {
    return [
      {
        what: `The page at ${origin} is not allowed to call this server`,
        where: "Origin",
        why: `If the page is yours, allow its origin with an option of edge(): allowedOrigins: ["${origin}"].`,
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
      what: `The token was issued for ${audiences.join(", ")}, not for this server`,
      where: "Authorization, claim aud",
      why: `The client must request a token with resource=${endpoint.at(-1) ?? ""}. If the audience is another name of this server, set the option audience of bearer().`,
    },
  ];
}

/** Finds a client that sends a request before `Retry-After` has passed. */
export function findIgnoredRetryAfter({ entry }: Examined): Finding[] {
  const { early } = entry;
  if (!early) return [];
  return [
    {
      what: `The client did not wait: Retry-After was ${early.retryAfterMs / 1_000} s, and it came back after ${Math.round(early.waitedMs)} ms`,
      where: "Retry-After",
      why: "It is refused again, and each refusal costs a request. The client must wait for the time in Retry-After.",
    },
  ];
}

/** Finds a client that opens a session for each call. */
export function findSessionPerCall({ entry }: Examined): Finding[] {
  const { sessionsOpened } = entry;
  if (sessionsOpened === undefined) return [];
  return [
    {
      what: `${sessionsOpened} sessions of one client, with at most one call each`,
      where: entry.facts.client ? `${entry.facts.client.name} ${entry.facts.client.version}` : "the client",
      why: "Each session takes two more requests. The client should reuse its session, or use a modern protocol version, which has no sessions.",
    },
  ];
}

/** Explains why a response ended without a result. */
export function findCut({ entry }: Examined): Finding[] {
  if (entry.kind !== "request") return [];
  // A subscription has no result. It ends when its client closes it.
  if (entry.outcome === "cut-by-client" && entry.facts.method !== "subscriptions/listen") {
    return [
      {
        what: "The client closed the connection before it received the result",
        where: entry.facts.client ? `${entry.facts.client.name} ${entry.facts.client.version}` : "the client",
        why: "It cancelled the call, or its timeout expired. In a session, it can resume the stream with Last-Event-ID.",
      },
    ];
  }
  // The session reports an interrupted call to its client as an error.
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
        : "The response ended without a result",
      where: broken ? placeOf(broken) : "the Worker",
      why: "The progress of the handler is lost, unless replay() continues the call. The client can repeat the call if it is safe to run it twice.",
    },
  ];
}

function headerOf(headers: readonly (readonly [string, string])[] | undefined, name: string): string | undefined {
  return headers?.find(([each]) => each.toLowerCase() === name)?.[1];
}
