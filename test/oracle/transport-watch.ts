/** Passes the messages of a client's transport to an oracle, for transports that are not simple exchanges. */
import type { WireOracle } from "./oracle.ts";

interface AnyTransport {
  send(message: never): Promise<void>;
  onmessage?: unknown;
}

/** Passes both directions of a transport to an oracle. */
export function watch<T extends AnyTransport>(transport: T, oracle: WireOracle): T {
  const send = transport.send.bind(transport) as (message: unknown) => Promise<void>;
  transport.send = (message: unknown) => {
    oracle.observe("client", message);
    return send(message);
  };
  let handler: ((...args: unknown[]) => void) | undefined;
  const heard = (...args: unknown[]) => {
    oracle.observe("server", args[0]);
    handler?.(...args);
  };
  Object.defineProperty(transport, "onmessage", {
    configurable: true,
    get: () => handler && heard,
    set: (next) => {
      handler = next;
    },
  });
  return transport;
}
