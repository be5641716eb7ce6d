import { info, status } from "./connection.ts";

/** Returns the displayed name of the server. */
export function serverName(): string {
  const { value } = status;
  const stated = value.is === "connected" ? value.client.server.info : undefined;
  return stated?.title ?? stated?.name ?? info.value?.server?.name ?? "The server";
}
