/**
 * The members of messages that are defined by the protocol. They are shown even if contents are not recorded.
 *
 * @module
 */

/**
 * Which values of a member are shown: `name` shows names, numbers and booleans; `reason` shows lower-case words; `uri` shows the
 * scheme, the host and names; `all` shows everything.
 */
export type Visibility = "name" | "reason" | "uri" | "all";

/** The rule for a value and its members. The member `*` applies to all other members, and to the elements of an array. */
export interface MemberRules {
  readonly visibility?: Visibility;
  readonly members: ReadonlyMap<string, MemberRules>;
}

/** The name that matches every member. */
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

/** The rules for a message. */
export const MESSAGE_RULES: MemberRules = compile([
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

function prefixed(prefix: string, paths: readonly string[], visibility: Visibility): (readonly [string, Visibility])[] {
  return paths.map((path) => [prefix + path, visibility]);
}

/** Builds a tree from paths. Names of `_meta` members contain dots and are a single step. */
function compile(paths: readonly (readonly [path: string, visibility: Visibility])[]): MemberRules {
  interface Node {
    visibility?: Visibility;
    members: Map<string, Node>;
  }
  const root: Node = { members: new Map() };
  for (const [path, visibility] of paths) {
    let node = root;
    for (const step of path.match(/io\.modelcontextprotocol\/\w+|[^.]+/g) ?? []) {
      const next = node.members.get(step) ?? { members: new Map() };
      node.members.set(step, next);
      node = next;
    }
    node.visibility = visibility;
  }
  return root;
}
