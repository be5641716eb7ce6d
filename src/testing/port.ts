import { createServer } from "node:net";

/** Below what Linux (32768), macOS and Windows (49152) give to outgoing connections: nobody takes it during a restart. */
const PORTS = { from: 20_000, to: 32_767 } as const;

/** A port of this machine that nobody listens on. */
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
