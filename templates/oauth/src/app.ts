/** The notebook with user accounts. index.ts and dev.ts differ only in where users sign in. */

import { authorizationServer, type IdentityProvider } from "mcp-edge/authorization-server";
import { edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { server } from "./notebook.ts";

export function createApp(identity: IdentityProvider) {
  const auth = authorizationServer({
    name: "Notebook",
    identity,
    // Everyone with an account there gets a notebook. { organisations: [...] }, { emails: [...] } or a function admit fewer.
    allow: { anyone: true },
    // What a user can allow a client to do. Users read the descriptions on the consent page.
    scopes: {
      "notes:read": { description: "Read your notes" },
      "notes:write": { description: "Add and delete notes" },
      "github:issues": { description: "Create issues on GitHub in your name" },
    },
    // Every request needs this one. Clients ask for the others when a call needs them.
    requiredScopes: ["notes:read"],
    needs: {
      tools: {
        add_note: ["notes:write"],
        delete_note: ["notes:write"],
        github_create_issue: ["github:issues"],
      },
    },
    // Clients of protocol versions before 2025-11-25 cannot sign in otherwise.
    registration: true,
  });
  return edge(server, { use: [durable(), auth, page()] });
}
