/** The documents as a Cloudflare Worker without objects: every request is answered by itself. */
import { anonymous, edge, page } from "mcp-edge/worker";
import { server } from "./server.ts";

// The documents are public, so everyone may read them.
export default edge(server, { use: [page(), anonymous()] });
