/** The notebook with user accounts. index.ts and dev.ts use it with different identity providers. */

import { authorizationServer, type IdentityProvider } from "mcp-edge/authorization-server";
import { edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { server } from "./notebook.ts";

export function createApp(identity: IdentityProvider) {
  const auth = authorizationServer({
    name: "Notebook",
    identity,
    // Everyone with an account at the identity provider may sign in. Use { organisations: [...] }, { emails: [...] } or a
    // function to admit fewer users.
    allow: { anyone: true },
    // What a user can allow a client to do. The consent page shows the descriptions.
    scopes: {
      "notes:read": { description: "Read your notes" },
      "notes:write": { description: "Add and delete notes" },
      "github:issues": { description: "Create issues on GitHub in your name" },
    },
    // Every request needs this scope. Clients request the other scopes when a call needs them.
    requiredScopes: ["notes:read"],
    needs: {
      tools: {
        add_note: ["notes:write"],
        delete_note: ["notes:write"],
        github_create_issue: ["github:issues"],
      },
    },
    // Without this, clients of protocol versions before 2025-11-25 cannot sign in.
    registration: true,
  });
  return edge(server, { use: [durable(), auth, page()] });
}
