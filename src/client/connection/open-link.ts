import type { Transport } from "../../core/protocol/transport.ts";
import type { ClientLimits, ClientOptions } from "../api/options.ts";
import { readEvents } from "../transports/event-reader.ts";
import { HttpLink } from "../transports/http-link.ts";
import type { Link } from "../transports/link.ts";
import type { PipeOpener } from "../transports/pipe-opener.ts";
import { resolveHeaders } from "../transports/request-headers.ts";

/** The target of `connect`: a URL, a transport, or a function that creates a new transport for each attempt. */
export type ConnectTarget = string | URL | Transport | (() => Transport | Promise<Transport>);

/** Opens links to one target. */
export interface LinkOpener {
  /** Whether a channel that has closed can be opened again. */
  readonly canReconnect: boolean;
  open(transport?: "http-sse"): Promise<Link>;
}

/**
 * Creates the opener of links to a target. The code for all links but Streamable HTTP is loaded on demand.
 *
 * @param hold Pauses `timeoutMs` of all open requests until the returned function is called.
 */
export function createLinkOpener(
  target: ConnectTarget,
  { fetch: own, headers, auth, name, title }: ClientOptions,
  { messageBytesMax, reconnectsMax }: ClientLimits,
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
      return linkOverHttpSse(url, { ...http, readEvents, resolveHeaders });
    },
  };
}
