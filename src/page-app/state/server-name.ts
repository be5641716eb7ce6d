import { info, status } from "./connection.ts";

/** The name of the server for people. */
export function serverName(): string {
  const { value } = status;
  const stated = value.is === "connected" ? value.client.server.info : undefined;
  return stated?.title ?? stated?.name ?? info.value?.server?.name ?? "The server";
}
