/** Shows an oracle what a client's transport carries, for transports that are no plain exchanges. */
import type { WireOracle } from "./oracle.ts";

interface AnyTransport {
  send(message: never): Promise<void>;
  onmessage?: unknown;
}

/** Shows an oracle both ways of a transport. */
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
