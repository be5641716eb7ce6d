import type { Transport } from "../../core/protocol/transport.ts";
import type { Amounts, ClientOptions } from "../api/options.ts";
import { readEvents } from "../transports/event-reader.ts";
import { HttpLink } from "../transports/http-link.ts";
import type { Link } from "../transports/link.ts";
import type { PipeOpener } from "../transports/pipe-opener.ts";
import { givenHeaders } from "../transports/request-headers.ts";

/** What `connect` connects to: a URL, a transport, or a function that creates one, for each attempt anew. */
export type ConnectTarget = string | URL | Transport | (() => Transport | Promise<Transport>);

export interface LinkOpener {
  /** Whether a channel that has closed can be opened again. */
  readonly canReconnect: boolean;
  open(transport?: "http-sse"): Promise<Link>;
}

/**
 * Returns what creates the links to a target. What few clients need is loaded on demand.
 *
 * @param hold Stops the time limits of the open calls until the returned function is called.
 */
export function linkOpener(
  target: ConnectTarget,
  { fetch: own, headers, auth, name, title }: ClientOptions,
  { messageBytesMax, reconnectsMax }: Amounts,
  hold: () => () => void,
): LinkOpener {
  if (typeof target !== "string" && !(target instanceof URL)) {
    const isReopenable = typeof target === "function" || "reopen" in target;
    let pipes: Promise<PipeOpener> | undefined;
    return {
      canReconnect: isReopenable,
      open: async () => {
        pipes ??= import("../on-demand.ts").then(({ PipeOpener }) => new PipeOpener(target));
        return (await pipes).open();
      },
    };
  }
  const url = String(target);
  const send = own ?? ((to: string, init: RequestInit) => fetch(to, init));
  return {
    canReconnect: true,
    open: async (transport) => {
      const authorized = auth?.authorize(url, { fetch: send, hold, name: title ?? name });
      const http = { fetch: authorized ?? send, headers, messageBytesMax, reconnectsMax };
      if (transport === undefined) return new HttpLink(url, http);
      const { linkOverHttpSse } = await import("../on-demand.ts");
      return linkOverHttpSse(url, { ...http, readEvents, givenHeaders });
    },
  };
}
