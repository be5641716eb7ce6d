import { createServer } from "node:net";

/** Below the ports of outgoing connections on Linux (32768), macOS and Windows (49152), so a restart finds its port free. */
const PORTS = { from: 20_000, to: 32_767 } as const;

/** Returns a free port of this machine. */
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
