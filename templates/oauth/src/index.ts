/** The Worker that is deployed: users sign in with GitHub. */
import { env } from "cloudflare:workers";
import { github } from "mcp-edge/authorization-server";
import { createApp } from "./app.ts";

/** Secrets of the Worker; see .dev.vars.example. wrangler generates types only for secrets in .dev.vars, so they are declared here. */
const { GITHUB_CLIENT_ID, GITHUB_CLIENT_SECRET } = env as unknown as {
  readonly GITHUB_CLIENT_ID: string;
  readonly GITHUB_CLIENT_SECRET: string;
};

const app = createApp(
  github({
    clientId: GITHUB_CLIENT_ID,
    clientSecret: GITHUB_CLIENT_SECRET,
    url: env.GITHUB_URL,
    // The scopes of an OAuth app. A GitHub App uses permissions instead, and ignores this.
    scopes: ["user:email", "public_repo"],
  }),
);

export default app;
/** The Durable Object classes that wrangler.toml names. */
export class McpObject extends app.McpObject {}
export { NotesObject } from "./notes-object.ts";
