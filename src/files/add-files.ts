/**
 * Adds files to a server.
 *
 * @module
 */
import { type McpServer, REGISTRY } from "../core/define/server.ts";
import type { ToolResult } from "../core/define/tool.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import { ToolError } from "../core/protocol/errors.ts";
import type { SchemaPair } from "../core/protocol/schema.ts";
import { correctDescriptions, type Intake } from "./argument.ts";
import { explainUpload, FileStore } from "./store.ts";

/** Options of {@link addFiles}. */
export interface AddFilesOptions {
  /**
   * The name of the tool that returns a URL for an upload. False for no such tool: a call without its file is then the only way
   * to obtain a URL.
   *
   * @default "create_upload"
   */
  readonly uploadTool?: string | false;
}

const OPTIONS: OptionTable<AddFilesOptions> = { uploadTool: null };

/**
 * Lets the tools of a server take and return files. Returns the store that handlers use. Adds the tool `create_upload`, with
 * which a model obtains a URL for an upload.
 *
 * ```ts
 * import { McpServer } from "mcp-edge";
 * import { addFiles } from "mcp-edge/files";
 *
 * const server = new McpServer({ name: "reports", version: "1.0.0" });
 * export const store = addFiles(server);
 * ```
 *
 * The transport decides where files are: `files(store)` of `mcp-edge/worker/files`, or `openFolders(store)` of `mcp-edge/node`.
 *
 * @throws {KitError} `definition-duplicate` if the server already has a tool with the name.
 */
export function addFiles<Env>(server: McpServer<Env>, options: AddFilesOptions = {}): FileStore {
  checkOptions("addFiles(): ", options, OPTIONS);
  const { uploadTool = "create_upload" } = options;
  const store = new FileStore();
  places.set(store, { server: server as McpServer<unknown>, uploadTool });
  stores.set(server[REGISTRY], store);
  if (uploadTool !== false) addTool(server, uploadTool, store);
  return store;
}

/** What a transport has to know about the server of a store. */
export interface StoreServer {
  readonly server: McpServer<unknown>;
  readonly uploadTool: string | false;
}

const places = new WeakMap<FileStore, StoreServer>();
/** The store of a server, by its registry. */
const stores = new WeakMap<object, FileStore>();

/** Returns why the files of a server cannot be used, for a warning when it starts. Undefined if they can, or if it has none. */
export function findFilesProblem<Env>(server: McpServer<Env>): string | undefined {
  return stores.get(server[REGISTRY])?.problem;
}

/** Lets the tools of a server, including those that are added later, describe their files as the transport takes them. */
export function describeFiles({ server }: StoreServer, intake: Intake): void {
  const { tools, changes } = server[REGISTRY];
  const correct = () => {
    for (const { inputJson } of tools.values()) correctDescriptions(inputJson, intake);
  };
  correct();
  changes.subscribe(correct);
}

/** Returns the server of a store. */
export function serverOf(store: FileStore): StoreServer | undefined {
  return places.get(store);
}

/** Returns the name that people see. */
export function shownName({ server }: StoreServer): string {
  const { title, name } = server[REGISTRY].options;
  return title ?? name;
}

const RESULT = {
  type: "object",
  properties: { file: { type: "string" }, url: { type: "string" }, until: { type: "string" } },
  required: ["file", "url", "until"],
} as const;

function addTool<Env>(server: McpServer<Env>, name: string, store: FileStore): void {
  const schema: SchemaPair = {
    schema: { "~standard": { version: 1, vendor: "mcp-edge", validate: (value) => ({ value }) } },
    jsonSchema: RESULT,
  };
  const options = {
    title: "Create an upload",
    description:
      "Returns a URL for the upload of one file, and the id to pass as an argument of another tool after the upload. Upload the file yourself with an HTTP PUT request, or give the URL to the user, who can open it in a browser.",
    output: schema,
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
  server.tool(name, options, async (_, ctx): Promise<ToolResult> => {
    const link = await store.link(ctx);
    if (!link)
      throw new ToolError("This server reads files where they are. Pass the path of the file as the argument.");
    const { id, url, untilMs } = link;
    const structuredContent = { file: id, url, until: new Date(untilMs).toISOString() };
    return { content: [{ type: "text", text: explainUpload(link) }], structuredContent };
  });
}
