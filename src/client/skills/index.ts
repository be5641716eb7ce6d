/**
 * mcp-edge/client/skills: lists and reads the skills of a server (`io.modelcontextprotocol/skills`), and verifies each file.
 *
 * @example
 * ```ts
 * import { connect } from "mcp-edge/client";
 * import { Skills } from "mcp-edge/client/skills";
 *
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0" });
 * for await (const { frontmatter } of new Skills(client).list()) console.log(frontmatter.name);
 * ```
 *
 * @module
 */
export type { Skill, SkillResource } from "./entries.ts";
export type { SkillErrorReason } from "./errors.ts";
export { SkillError } from "./errors.ts";
export type { SkillFile, SkillsOptions } from "./skills.ts";
export { Skills } from "./skills.ts";
