/**
 * Links to the guides, for the notes that the migration leaves.
 *
 * @module
 */
import type { Kit } from "./old-kits.ts";

const FOLDER = "node_modules/mcp-edge/docs";

/** Returns the path of the guide for a kit, in an installed package. */
export function guideOf(kit: Kit): string {
  return `${FOLDER}/migration/${kit}.md`;
}
