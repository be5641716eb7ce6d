/**
 * Declarations of the kits that are migrated: only as much of their types as the migration asks for. With them, the type checker can tell
 * which expressions are servers, contexts or schemas, without the packages themselves.
 *
 * @module
 */

/** The kits that can be migrated. */
export type Kit = "sdk-v1" | "sdk-v2" | "mcp-agent" | "mcp-handler";

/** Returns the kit that a module belongs to. */
export function kitOf(module: string): Kit | undefined {
  if (module === "@modelcontextprotocol/sdk" || module.startsWith("@modelcontextprotocol/sdk/")) return "sdk-v1";
  if (/^@modelcontextprotocol\/(server|core|node|express|hono|fastify|server-legacy)(\/|$)/.test(module))
    return "sdk-v2";
  if (module === "agents/mcp" || module === "agents/mcp/server") return "mcp-agent";
  if (module === "mcp-handler" || module === "@vercel/mcp-adapter") return "mcp-handler";
  return undefined;
}

/** Matches the modules of clients, which are not migrated. */
export const CLIENT_MODULE = /^@modelcontextprotocol\/(sdk\/client(\/|$)|client(\/|$))/;

const SHARED = `
  interface OldExtra { readonly __old: "extra"; readonly signal: AbortSignal; readonly requestId: any; readonly _meta?: any;
    readonly sessionId?: string; readonly authInfo?: any; readonly requestInfo?: any; sendNotification(message: any): Promise<void>;
    sendRequest(message: any, schema?: any, options?: any): Promise<any>; readonly mcpReq: OldMcpReq; readonly http?: any; [key: string]: any }
  interface OldMcpReq { readonly __old: "mcpReq"; [key: string]: any }
  type OldCallback = (args: any, extra: OldExtra) => any;
  interface OldRegistered { readonly __old: "registered"; enable(): void; disable(): void; remove(): void; update(updates: any): void }
`;

const CLASSES = `
  export class Server { readonly __old: "server"; constructor(info: any, options?: any); connect(transport: any): Promise<void>;
    close(): Promise<void>; setRequestHandler(schema: any, handler: (request: any, extra: OldExtra) => any): void;
    setNotificationHandler(schema: any, handler: (notification: any) => any): void; elicitInput(params: any, options?: any): Promise<any>;
    createMessage(params: any, options?: any): Promise<any>; listRoots(params?: any, options?: any): Promise<any>;
    sendLoggingMessage(params: any, sessionId?: any): Promise<void>; sendResourceUpdated(params: any): Promise<void>; [key: string]: any }
  export class McpServer { readonly __old: "mcpServer"; readonly server: Server; constructor(info: any, options?: any);
    connect(transport: any): Promise<void>; close(): Promise<void>;
    registerTool(name: any, config: any, callback: OldCallback): OldRegistered;
    registerPrompt(name: any, config: any, callback: OldCallback): OldRegistered;
    registerResource(name: any, uri: string, config: any, callback: (uri: URL, extra: OldExtra) => any): OldRegistered;
    registerResource(name: any, template: ResourceTemplate, config: any, callback: (uri: URL, variables: any, extra: OldExtra) => any): OldRegistered;
    tool(name: any, callback: OldCallback): OldRegistered; tool(name: any, a: any, callback: OldCallback): OldRegistered;
    tool(name: any, a: any, b: any, callback: OldCallback): OldRegistered; tool(name: any, a: any, b: any, c: any, callback: OldCallback): OldRegistered;
    prompt(name: any, callback: OldCallback): OldRegistered; prompt(name: any, a: any, callback: OldCallback): OldRegistered;
    prompt(name: any, a: any, b: any, callback: OldCallback): OldRegistered;
    resource(name: any, uri: string, callback: (uri: URL, extra: OldExtra) => any): OldRegistered;
    resource(name: any, uri: string, metadata: any, callback: (uri: URL, extra: OldExtra) => any): OldRegistered;
    resource(name: any, template: ResourceTemplate, callback: (uri: URL, variables: any, extra: OldExtra) => any): OldRegistered;
    resource(name: any, template: ResourceTemplate, metadata: any, callback: (uri: URL, variables: any, extra: OldExtra) => any): OldRegistered;
    sendLoggingMessage(params: any, sessionId?: any): Promise<void>; sendToolListChanged(): void; sendPromptListChanged(): void;
    sendResourceListChanged(): void; isConnected(): boolean; [key: string]: any }
  export class ResourceTemplate { readonly __old: "template"; constructor(uri: any, callbacks: { list?: any; complete?: any }) }
  export class StdioServerTransport { readonly __old: "stdio"; constructor(...args: any[]); [key: string]: any }
  export class StreamableHTTPServerTransport { readonly __old: "http"; constructor(...args: any[]); [key: string]: any }
  export class WebStandardStreamableHTTPServerTransport { readonly __old: "webHttp"; constructor(...args: any[]); [key: string]: any }
  export class NodeStreamableHTTPServerTransport { readonly __old: "http"; constructor(...args: any[]); [key: string]: any }
  export class SSEServerTransport { readonly __old: "sse"; constructor(...args: any[]); [key: string]: any }
  export function completable(schema: any, complete: any): any;
  export type RequestHandlerExtra<A = any, B = any> = OldExtra;
  export type ServerContext = OldExtra;
`;

/** Names that are not declared here are resolved by their import, and have the type `any`. */
const MODULES = [
  "@modelcontextprotocol/sdk/*",
  ...["server", "server/*", "node", "express", "hono"].map((name) => `@modelcontextprotocol/${name}`),
];

const ANY = [
  "createMcpExpressApp",
  "createMcpHonoApp",
  "createMcpHandler",
  "isInitializeRequest",
  "serveStdio",
  "toNodeHandler",
  "localhostHostValidation",
  ...[
    "ListTools",
    "CallTool",
    "ListPrompts",
    "GetPrompt",
    "ListResources",
    "ListResourceTemplates",
    "ReadResource",
    "Subscribe",
    "Unsubscribe",
    "Complete",
    "SetLevel",
    "CreateMessage",
    "Elicit",
    "ListRoots",
  ].map((name) => `${name}RequestSchema`),
  "RootsListChangedNotificationSchema",
  "McpError",
  "ErrorCode",
  "ProtocolError",
  "ProtocolErrorCode",
]
  .map((name) => `export const ${name}: any;`)
  .join(" ");

const declareModule = (name: string, body: string) => `declare module "${name}" { ${body} }`;

/** A schema of zod: its methods return schemas, and its shape is the argument of `z.object`. */
const ZOD = `
  interface ZodType { readonly __zod: true; optional(): ZodType; nullable(): ZodType; describe(text: any): this; default(value: any): ZodType;
    refine(...args: any[]): this; superRefine(...args: any[]): this; transform(...args: any[]): ZodType; strict(): this; passthrough(): this;
    loose(): this; strip(): this; partial(...args: any[]): ZodType; required(...args: any[]): ZodType; pick(...args: any[]): ZodType;
    omit(...args: any[]): ZodType; extend(...args: any[]): ZodType; merge(...args: any[]): ZodType; meta(...args: any[]): this; readonly shape: any; [key: string]: any }
  interface Zod { object(shape?: any): ZodType; strictObject(shape?: any): ZodType; looseObject(shape?: any): ZodType; string(...a: any[]): ZodType; number(...a: any[]): ZodType;
    boolean(...a: any[]): ZodType; array(...a: any[]): ZodType; enum(...a: any[]): ZodType; union(...a: any[]): ZodType; literal(...a: any[]): ZodType; record(...a: any[]): ZodType; any(): ZodType; [key: string]: any }
`;
const ZOD_EXPORTS =
  "export const z: Zod; export default z; export const object: Zod['object']; export const strictObject: Zod['object']; export const string: Zod['string']; export const number: Zod['number']; export const boolean: Zod['boolean']; export const array: Zod['array']; export { z as 'enum' };";

/** The text of the declarations. */
export const DECLARATIONS = [
  SHARED,
  ...MODULES.map((name) => declareModule(name, CLASSES + ANY)),
  declareModule(
    "agents/mcp",
    `import { McpServer, Server } from "@modelcontextprotocol/sdk/server/mcp.js";
     export abstract class McpAgent<Env = any, State = any, Props = any> { env: Env; props?: Props; state: State; sql: any; ctx: any; abstract server: any;
       setState(state: State): void; static serve(path: string, options?: any): any; static serveSSE(path: string, options?: any): any;
       static mount(path: string, options?: any): any; [key: string]: any }
     export const createMcpHandler: any; export const createLegacyMcpHandler: any;`,
  ),
  declareModule("agents/mcp/server", "export const createMcpHandler: any; export const getMcpAuthContext: any;"),
  ...["mcp-handler", "@vercel/mcp-adapter"].map((name) =>
    declareModule(
      name,
      `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
       export function createMcpHandler(initialize: (server: McpServer, ...rest: any[]) => any, options?: any, config?: any): any;
       export default createMcpHandler; export const withMcpAuth: any; export const experimental_withMcpAuth: any;`,
    ),
  ),
  ZOD,
  ...["zod", "zod/v3", "zod/v4"].map((name) => declareModule(name, ZOD_EXPORTS.replace("export { z as 'enum' };", ""))),
].join("\n");
