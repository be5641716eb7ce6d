/**
 * The WebSockets of an object that are open. The platform also returns those that are closing.
 *
 * @module
 */

/** Returns the open WebSockets of an object. @param tag Only those with this tag. */
export function openSockets(ctx: Pick<DurableObjectState, "getWebSockets">, tag?: string): WebSocket[] {
  return ctx.getWebSockets(tag).filter(({ readyState }) => readyState === WebSocket.OPEN);
}

/** Sends a text on a WebSocket unless it is closed. */
export function sendIfOpen(socket: WebSocket | undefined, text: string): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(text);
}
