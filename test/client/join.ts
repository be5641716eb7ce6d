/** Clients that are closed at the end of their test, with the events that they reported. */
import { afterEach } from "vitest";
import { type Client, type ClientEvent, type ClientOptions, connect } from "../../src/client/index.ts";
import { ME } from "./places.ts";

export interface Joined {
  readonly client: Client;
  readonly events: readonly ClientEvent[];
  /** The types of the events so far. */
  kinds(): ClientEvent["type"][];
}

/** Returns a function that connects. Call it at the top of a test file. */
export function useClients(): (
  target: Parameters<typeof connect>[0],
  options?: Partial<ClientOptions>,
) => Promise<Joined> {
  const clients: Client[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });
  return async (target, options = {}) => {
    const events: ClientEvent[] = [];
    const client = await connect(target, { ...ME, onEvent: (event) => events.push(event), ...options });
    clients.push(client);
    return { client, events, kinds: () => events.map(({ type }) => type) };
  };
}
