import type { Socket } from "node:net";

/**
 * How a connection is cut. "fin" closes it as a program does. "rst" resets it, as after a crash, by a firewall or by a
 * sleeping laptop, and drops data in transit.
 */
export type CutHow = "fin" | "rst";

/** Cuts a connection. */
export function cutSocket(socket: Socket, how: CutHow): void {
  // Ignore errors that the other end causes from now on.
  socket.on("error", () => undefined);
  if (how === "rst") {
    socket.resetAndDestroy();
    return;
  }
  // Send FIN before closing, since closing a socket with unread data sends RST.
  socket.end(() => socket.destroy());
}
