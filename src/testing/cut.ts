import type { Socket } from "node:net";

/**
 * How to cut a connection. "fin" closes it normally. "rst" resets it and drops data in transit, as after a crash, or as a firewall or
 * a sleeping laptop does.
 */
export type CutHow = "fin" | "rst";

/** Cuts a connection. */
export function cutSocket(socket: Socket, how: CutHow): void {
  // Ignore errors that the other end causes after this.
  socket.on("error", () => undefined);
  if (how === "rst") {
    socket.resetAndDestroy();
    return;
  }
  // Send FIN first, because destroying a socket with unread data sends RST.
  socket.end(() => socket.destroy());
}
