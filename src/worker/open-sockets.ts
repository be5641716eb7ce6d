/**
 * Access to the open WebSockets of a Durable Object. The platform also returns WebSockets that are closing.
 *
 * @module
 */

/** Returns the open WebSockets of an object. @param tag If given, only WebSockets with this tag are returned. */
export function openSockets(ctx: Pick<DurableObjectState, "getWebSockets">, tag?: string): WebSocket[] {
  return ctx.getWebSockets(tag).filter(({ readyState }) => readyState === WebSocket.OPEN);
}

/** Sends a message on a WebSocket if it is open. */
export function sendIfOpen(socket: WebSocket | undefined, text: string): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(text);
}
