/**
 * The members of messages that belong to the protocol. They are shown even if contents are not.
 *
 * @module
 */

/**
 * What is kept of a member: `name` a value if it is a name, a number or a boolean; `reason` a word in lower case; `uri` its scheme, host
 * and names; `all` everything in it.
 */
export type Keep = "name" | "reason" | "uri" | "all";

/** What is kept in a value, by its members. `any` stands for every other member, and for the elements of an array. */
export interface Kept {
  readonly keep?: Keep;
  readonly members: ReadonlyMap<string, Kept>;
}

/** Stands for every member. */
export const ANY = "*";

const META = "_meta.io.modelcontextprotocol/";

const FACTS = ["name", "version", "title"];
const infoOf = (path: string) => FACTS.map((fact) => `${path}.${fact}`);
const schemaOf = (path: string) => [
  `${path}.type`,
  `${path}.required.*`,
  `${path}.properties.*.type`,
  `${path}.properties.*.format`,
];

const PARAMS = [
  ...infoOf("clientInfo"),
  ...infoOf(`${META}clientInfo`),
  ...schemaOf("requestedSchema"),
  `${META}protocolVersion`,
  `${META}logLevel`,
  "_meta.progressToken",
  "protocolVersion",
  "name",
  "level",
  "progress",
  "total",
  "progressToken",
  "requestId",
  "mode",
  "ref.type",
  "ref.name",
  "argument.name",
  "maxTokens",
  "messages.*.role",
  "messages.*.content.type",
  "notifications.toolsListChanged",
  "notifications.promptsListChanged",
  "notifications.resourcesListChanged",
  "inputResponses.*.action",
];

const RESULT = [
  ...infoOf("serverInfo"),
  ...infoOf(`${META}serverInfo`),
  ...schemaOf("tools.*.inputSchema"),
  ...schemaOf("tools.*.outputSchema"),
  ...schemaOf("inputRequests.*.params.requestedSchema"),
  "protocolVersion",
  "supportedVersions.*",
  "resultType",
  "isError",
  "action",
  "role",
  "status",
  "task.status",
  "task.ttl",
  "task.pollInterval",
  "ttlMs",
  "cacheScope",
  "content.type",
  "content.*.type",
  "content.*.mimeType",
  "contents.*.mimeType",
  "messages.*.role",
  "messages.*.content.type",
  "tools.*.name",
  "tools.*.annotations.*",
  "prompts.*.name",
  "prompts.*.arguments.*.name",
  "prompts.*.arguments.*.required",
  "resources.*.mimeType",
  "resourceTemplates.*.mimeType",
  "inputRequests.*.method",
  "inputRequests.*.params.mode",
  "completion.total",
  "completion.hasMore",
];

/** What is kept of a message. */
export const KEPT: Kept = compile([
  ...prefixed("params.", PARAMS, "name"),
  ...prefixed("params.", ["uri", "ref.uri", "url"], "uri"),
  ...prefixed("params.", ["capabilities", `${META}clientCapabilities`], "all"),
  ...prefixed("result.", RESULT, "name"),
  ...prefixed(
    "result.",
    ["contents.*.uri", "resources.*.uri", "resourceTemplates.*.uriTemplate", "content.*.uri"],
    "uri",
  ),
  ...prefixed("result.", ["inputRequests.*.params.url"], "uri"),
  ...prefixed("result.", ["capabilities"], "all"),
  ...prefixed("", ["jsonrpc", "id", "method", "error.code", "error.data.supported.*"], "name"),
  ...prefixed("", ["error.data.reason"], "reason"),
]);

function prefixed(prefix: string, paths: readonly string[], keep: Keep): (readonly [string, Keep])[] {
  return paths.map((path) => [prefix + path, keep]);
}

/** Makes a tree of paths. The members of `_meta` contain dots, so they are one step. */
function compile(paths: readonly (readonly [path: string, keep: Keep])[]): Kept {
  interface Node {
    keep?: Keep;
    members: Map<string, Node>;
  }
  const root: Node = { members: new Map() };
  for (const [path, keep] of paths) {
    let node = root;
    for (const step of path.match(/io\.modelcontextprotocol\/\w+|[^.]+/g) ?? []) {
      const next = node.members.get(step) ?? { members: new Map() };
      node.members.set(step, next);
      node = next;
    }
    node.keep = keep;
  }
  return root;
}
