/** A host and a bridge in this process, joined by streams as a host and its local server are. */
import { PassThrough } from "node:stream";
import { hold } from "../../src/cli/relay/back-pressure.ts";
import { HostConnection } from "../../src/cli/relay/host-connection.ts";
import { type ClientOptions, connect, type Transport } from "../../src/client/index.ts";
import { DEFAULT_LIMITS } from "../../src/core/index.ts";
import { StdioServerTransport } from "../../src/node/index.ts";
import { ME } from "../client/places.ts";

export interface Bridged extends AsyncDisposable {
  /** The host's end, for `connect`. */
  readonly transport: StdioServerTransport;
  /** What the bridge writes. A host that does not read it leaves it unread. */
  readonly output: PassThrough;
  /** What the host writes. */
  readonly input: PassThrough;
  /** What the bridge says to the user. */
  readonly notes: string[];
}

/** Starts a bridge to a server. `versions` limits the protocol versions that it uses with the server, as the option `--as` does. */
export async function bridged(
  target: string | Transport,
  versions: Pick<ClientOptions, "protocolVersions"> = {},
): Promise<Bridged> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const notes: string[] = [];
  const stdio = new StdioServerTransport({ input, output });
  const host = new HostConnection(
    stdio,
    (gate) => (more) => {
      const held = hold({ target, options: ME }, gate);
      return connect(held.target, { ...held.options, ...more, ...versions });
    },
    (text) => notes.push(text),
  );
  await stdio.start();
  const transport = new StdioServerTransport({ input: output, output: input });
  const large = 64 * 1024 * 1024;
  transport.limits = { ...DEFAULT_LIMITS, bodyBytesMax: large, bodyValuesMax: large };
  return {
    transport,
    input,
    output,
    notes,
    [Symbol.asyncDispose]: async () => {
      await host.close();
      await stdio.close();
      await transport.close();
    },
  };
}
