/** A participant of the benchmark, and the scenarios it can take part in. */
export interface Contestant {
  readonly name: string;
  /** Module in contestants/, without its extension. */
  readonly entry: string;
  /** Description in the table. */
  readonly what: string;
  /** Whether it serves 2026-07-28. */
  readonly hasModern: boolean;
  /** Whether it serves calls of older versions without a session. */
  readonly hasStateless: boolean;
  /** The storage of its sessions; undefined if it has none. */
  readonly sessions?: "durable" | "memory";
  /** Path of the endpoint with sessions. @default "/mcp" */
  readonly sessionPath?: string;
  /** Whether the stream of a finished call can be resumed from an event id. */
  readonly resumes?: boolean;
  /** Durable Objects: binding name to class name, or classes without a binding. */
  readonly objects?: Readonly<Record<string, string>> | readonly string[];
  /** The newest version it serves by `initialize`. @default "2025-11-25" */
  readonly legacyVersion?: string;
}

const SESSION = { SESSION: "Session" };

/** mcp-edge with one tool whose schema is written by hand. Shown as `ours`; only its start is measured. */
export const BARE: Contestant = {
  name: "ours",
  entry: "ours-bare",
  what: "mcp-edge",
  hasModern: true,
  hasStateless: true,
};

/** The floor that the start of those with zod is compared with. */
export const FLOOR_ZOD: Contestant = {
  name: "floor-zod",
  entry: "floor-zod",
  what: "Hono, canned, and the same zod schemas",
  hasModern: true,
  hasStateless: true,
};

export const CONTESTANTS: readonly Contestant[] = [
  { name: "floor", entry: "floor", what: "Hono, canned", hasModern: true, hasStateless: true },
  {
    name: "floor-do",
    entry: "floor-do",
    what: "Hono, one RPC, canned",
    hasModern: false,
    hasStateless: false,
    sessions: "durable",
    resumes: true,
    objects: SESSION,
  },
  {
    name: "ours-readme",
    entry: "ours-readme",
    what: "mcp-edge, as README recommends",
    hasModern: true,
    hasStateless: false,
    sessions: "durable",
    resumes: true,
    objects: { MCP: "McpObject" },
  },
  { name: "ours", entry: "ours", what: "mcp-edge", hasModern: true, hasStateless: true },
  {
    name: "ours-sessions",
    entry: "ours-sessions",
    what: "mcp-edge, sessions() hub() keys()",
    hasModern: true,
    hasStateless: false,
    sessions: "durable",
    resumes: true,
    objects: { MCP: "McpObject" },
  },
  { name: "sdk-v2", entry: "sdk-v2", what: "@modelcontextprotocol/server", hasModern: true, hasStateless: true },
  { name: "sdk-v1", entry: "sdk-v1", what: "@modelcontextprotocol/sdk", hasModern: false, hasStateless: true },
  {
    name: "sdk-v1-object",
    entry: "sdk-v1-object",
    what: "@modelcontextprotocol/sdk in an object",
    hasModern: false,
    hasStateless: false,
    sessions: "durable",
    resumes: true,
    objects: SESSION,
  },
  { name: "agents", entry: "agents", what: "agents createMcpHandler", hasModern: true, hasStateless: true },
  {
    name: "mcp-agent",
    entry: "mcp-agent",
    what: "agents McpAgent",
    hasModern: false,
    hasStateless: false,
    sessions: "durable",
    objects: SESSION,
  },
  {
    name: "mcp-lite",
    entry: "mcp-lite",
    what: "mcp-lite",
    hasModern: false,
    hasStateless: true,
    sessions: "memory",
    sessionPath: "/sessions",
    legacyVersion: "2025-06-18",
  },
  { name: "tmcp", entry: "tmcp", what: "tmcp", hasModern: true, hasStateless: false, sessions: "memory" },
  { name: "hono-mcp", entry: "hono-mcp", what: "@hono/mcp on SDK v1", hasModern: false, hasStateless: true },
];
