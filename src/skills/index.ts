/**
 * mcp-edge/skills: serves skills, which are folders with instructions for a model (`io.modelcontextprotocol/skills`).
 *
 * @module
 */
export { type AddSkillsOptions, addSkills } from "./add-skills.ts";
export type { ServedSkill, ServedSkillFile } from "./skill.ts";
