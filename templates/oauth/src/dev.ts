/**
 * The Worker that `npm start` runs at http://127.0.0.1:8787/mcp. Anyone can sign in as any user, without a password, so it refuses
 * requests to any host other than this machine. Never deploy this file.
 */
import { env } from "cloudflare:workers";
import type { IdentityProvider } from "mcp-edge/authorization-server";
import { developmentUsers } from "mcp-edge/authorization-server/dev";
import { createApp } from "./app.ts";

const users = developmentUsers();
/** A token from .dev.vars. If it is set, all development users act on GitHub as you. */
const { GITHUB_TOKEN: accessToken } = env as { readonly GITHUB_TOKEN?: string };
const identity: IdentityProvider = {
  ...users,
  finish: async (callbackUrl, kept) => {
    const finished = await users.finish(callbackUrl, kept);
    return accessToken ? { ...finished, tokens: { accessToken } } : finished;
  },
};
const app = createApp(identity);

export default app;
export class McpObject extends app.McpObject {}
export { NotesObject } from "./notes-object.ts";
