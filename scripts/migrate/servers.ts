/**
 * The public servers that the migration is measured with. Only their names are here: their sources are fetched into a folder outside of
 * the repository.
 */

/** One server. */
export interface PublicServer {
  /** The folder within the fetched sources. */
  readonly folder: string;
  /** The file that starts the server. */
  readonly entry: string;
  /** How requests reach it: as a process over stdio or HTTP, or by calling the function `fetch` or `POST` that it exports. */
  readonly run: "stdio" | "http" | "fetch" | "none";
  /** The port at which a process over HTTP listens. */
  readonly port?: number;
  /** Arguments of the process. */
  readonly args?: readonly string[];
  /** The reason why no requests are sent to it. */
  readonly why?: string;
  /** A folder to ignore, because it belongs to another server of the list. */
  readonly without?: string;
  /** Other folders that the server imports, by the name of the package. */
  readonly links?: Readonly<Record<string, string>>;
}

const AI = "cloudflare+ai/demos";
const AGENTS = "cloudflare+agents/examples";
const SDK = "modelcontextprotocol+typescript-sdk/examples";
const SERVERS = "modelcontextprotocol+servers/src";

const SIGN_IN = "needs a sign-in";
const OBJECTS = "the old server runs only in its Durable Object";

const demo = (name: string, why: string = SIGN_IN, entry = "src/index.ts"): PublicServer => ({
  folder: `${AI}/${name}`,
  entry,
  run: "none",
  why,
});

const example = (name: string): PublicServer => ({
  folder: `${SDK}/${name}`,
  entry: "server.ts",
  run: "stdio",
  links: { "@mcp-examples/shared": `${SDK}/shared` },
});

/** Returns an example of the SDK v1 in its own folder, whose imports of `../../` are replaced by imports of the package. */
const exampleOfV1 = (
  name: string,
  how: Pick<PublicServer, "run" | "port" | "why"> = { run: "stdio" },
): PublicServer => ({
  folder: `modelcontextprotocol+typescript-sdk-v1/examples/${name}`,
  entry: "server.ts",
  ...how,
});

/** An example that listens at its own port. */
const overHttp = { run: "http", port: 3000 } as const;

/** The list omits clients, servers in Python, and examples of features that have no counterpart, such as custom transports. */
export const PUBLIC_SERVERS: readonly PublicServer[] = [
  demo("mcp-server-bearer-auth"),
  demo("mcp-slack-oauth"),
  demo("mcp-stytch-b2b-okr-manager", SIGN_IN, "api/index.ts"),
  demo("mcp-stytch-consumer-todo-list", SIGN_IN, "api/index.ts"),
  demo("remote-mcp-auth0/mcp-auth0-oidc"),
  demo("remote-mcp-authkit"),
  { folder: `${AI}/remote-mcp-authless`, entry: "src/index.ts", run: "fetch" },
  demo("remote-mcp-cf-access"),
  demo("remote-mcp-cf-access-self-hosted"),
  demo("remote-mcp-github-oauth"),
  demo("remote-mcp-google-oauth"),
  demo("remote-mcp-logto"),
  demo("remote-mcp-server"),
  demo("remote-mcp-server-autorag"),
  demo("remote-mcp-server-descope-auth"),
  { folder: `${AGENTS}/mcp-worker`, entry: "src/server.ts", run: "fetch" },
  { folder: `${AGENTS}/mcp-server`, entry: "src/index.ts", run: "fetch" },
  { folder: `${AGENTS}/mcp-worker-authenticated`, entry: "src/server.ts", run: "none", why: SIGN_IN },
  { folder: `${AGENTS}/mcp`, entry: "src/server.ts", run: "none", why: OBJECTS },
  { folder: `${SERVERS}/memory`, entry: "index.ts", run: "stdio" },
  { folder: `${SERVERS}/filesystem`, entry: "index.ts", run: "stdio", args: ["FOLDER"] },
  { folder: `${SERVERS}/sequentialthinking`, entry: "index.ts", run: "stdio" },
  { folder: `${SERVERS}/everything`, entry: "transports/stdio.ts", run: "stdio" },
  example("tools"),
  example("prompts"),
  example("resources"),
  example("dual-era"),
  example("parallel-calls"),
  example("schema-validators"),
  example("streaming"),
  example("sampling"),
  example("elicitation"),
  { folder: "modelcontextprotocol+typescript-sdk/examples/server-quickstart", entry: "src/index.ts", run: "stdio" },
  { folder: "vercel+mcp-handler/examples", entry: "route.ts", run: "fetch", without: "auth" },
  { folder: "vercel+mcp-handler/examples/auth", entry: "route.ts", run: "none", why: SIGN_IN },
  exampleOfV1("mcpServerOutputSchema"),
  exampleOfV1("progressExample"),
  exampleOfV1("toolWithSampleServer"),
  exampleOfV1("simpleStatelessStreamableHttp", overHttp),
  exampleOfV1("jsonResponseStreamableHttp", overHttp),
  exampleOfV1("honoWebStandardStreamableHttp", overHttp),
  exampleOfV1("elicitationFormExample", overHttp),
  exampleOfV1("standaloneSseWithGetStreamableHttp", overHttp),
  exampleOfV1("simpleSseServer", { run: "none", why: "its old transport is HTTP+SSE" }),
];
