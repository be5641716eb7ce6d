/**
 * Free ports for processes that are about to be started.
 *
 * @module
 */
import { createServer } from "node:net";

/** Outside the range of ports for outgoing connections (from 32768 on Linux, 49152 on macOS and Windows), so that a port stays free. */
const PORTS = { from: 20_000, to: 32_767 } as const;

/** Returns a free port on the loopback address. */
export async function choosePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from));
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
