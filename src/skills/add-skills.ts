/**
 * Serves skills with the methods of the extension and with a resource for each file.
 *
 * @module
 * @see io.modelcontextprotocol/skills
 */

import type { CacheableMethod, CacheHint } from "../core/define/cache-hint.ts";
import type { HandlerContext } from "../core/define/handler-context.ts";
import { type McpServer, REGISTRY } from "../core/define/server.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import { createPage } from "../core/serve/pagination.ts";
import { type ServedSkill, skillUri, type WithUri } from "./skill.ts";
import { type IsVisible, SkillSet } from "./skill-set.ts";

const EXTENSION = "io.modelcontextprotocol/skills";

/** The options of {@link addSkills}. */
export interface AddSkillsOptions<Env> {
  /**
   * Whether a caller may see a skill and read its files. With this option, `resources/list` does not contain skills, because it is the
   * same for all callers, and `skills/list` contains only the skills that the caller may see.
   *
   * @default all callers see all skills
   */
  readonly visible?: (skill: ServedSkill, ctx: HandlerContext<Env>) => boolean;
}

const OPTIONS: OptionTable<AddSkillsOptions<unknown>> = { visible: null };

/**
 * Serves skills on a server: declares the extension, adds `skills/list`, `skills/get` and `resources/directory/read`, and makes each
 * file a resource with a `skill://` URI. For clients that do not support the extension, these are ordinary resources.
 *
 * Add skills to the server to which clients connect. The skills of a server that is mounted in it are not declared.
 *
 * ```ts
 * import { McpServer } from "mcp-edge";
 * import { addSkills } from "mcp-edge/skills";
 * import { skills } from "./skills.ts"; // written by `mcp-edge skills`
 *
 * const server = new McpServer({ name: "shop", version: "1.0.0" });
 * addSkills(server, skills);
 * ```
 *
 * @param skills From the module that `mcp-edge skills` writes, or from `readSkills` of `mcp-edge/node`.
 * @throws {KitError} `definition-duplicate` if two skills have the same path; `method-defined` if the server already has skills.
 * @see io.modelcontextprotocol/skills
 */
export function addSkills<Env>(
  server: McpServer<Env>,
  skills: readonly ServedSkill[],
  options: AddSkillsOptions<Env> = {},
): void {
  checkOptions("addSkills(): ", options, OPTIONS);
  const registry = server[REGISTRY];
  // The casts are safe because the context of a request always has the server's own bindings.
  const set = new SkillSet(skills, (options.visible as IsVisible | undefined) ?? (() => true));
  const hint = (method: CacheableMethod): Required<CacheHint> => {
    const own = registry.cacheHint(method);
    return options.visible ? { ...own, cacheScope: "private" } : own;
  };
  const page = (list: string, member: string, items: readonly WithUri[], cursor: unknown): JsonObject => {
    return pageResult(list, member, items, cursor, registry.options.pageSize);
  };
  server.method("skills/list", ({ cursor }, ctx) => {
    return { ...page("skills/list", "skills", set.entries(ctx), cursor), ...hint("resources/list") };
  });
  server.method("skills/get", ({ uri }, ctx) => ({ skill: set.entry(uri, ctx), ...hint("resources/read") }));
  server.method("resources/directory/read", ({ uri, cursor }, ctx) => {
    return page(`resources/directory/read ${uri}`, "resources", set.children(uri, ctx), cursor);
  });
  server.resourceTemplate(
    "skill://{+path}",
    { name: "skills", description: "The files of this server's skills.", cache: hint("resources/read") },
    (uri, _variables, ctx) => set.read(uri, ctx),
  );
  if (!options.visible) for (const skill of skills) addManifest(server, skill, set);
  registry.extensions = { ...registry.extensions, [EXTENSION]: { directoryRead: true } };
}

/** Lists the `SKILL.md` of a skill as a resource. The other files are served by the template, and are not listed. */
function addManifest<Env>(server: McpServer<Env>, { path, frontmatter }: ServedSkill, set: SkillSet): void {
  const { name, description } = frontmatter;
  const cache = server[REGISTRY].cacheHint("resources/read");
  server.resource(skillUri(`${path}/SKILL.md`), { name, description, mimeType: "text/markdown", cache }, (uri, ctx) =>
    set.read(uri, ctx),
  );
}

function pageResult(
  list: string,
  member: string,
  items: readonly WithUri[],
  cursor: unknown,
  pageSize: number | undefined,
): JsonObject {
  const byUri = new Map(items.map((item) => [item.uri, item]));
  const keys = items.map(({ uri }) => ({ key: uri, text: "" }));
  const { entries, nextCursor } = createPage(list, keys, cursor, pageSize);
  const shown = entries.map(({ key }) => byUri.get(key) as WithUri);
  return { [member]: shown, ...(nextCursor === undefined ? {} : { nextCursor }) };
}
