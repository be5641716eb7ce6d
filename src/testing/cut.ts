import type { Socket } from "node:net";

/**
 * How a connection breaks. "fin" is what a program does that closes its end; "rst" is what a crash, a firewall or a
 * sleeping laptop looks like, and drops what was under way.
 */
export type CutHow = "fin" | "rst";

/** Breaks a connection. */
export function cutSocket(socket: Socket, how: CutHow): void {
  // Who cuts does not care for what the other end says to it.
  socket.on("error", () => undefined);
  if (how === "rst") {
    socket.resetAndDestroy();
    return;
  }
  // The system answers a close with RST where something lies unread: so FIN first, by itself.
  socket.end(() => socket.destroy());
}
