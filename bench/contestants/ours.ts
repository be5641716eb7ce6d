/** mcp-edge without sessions. */
import { edge } from "../../src/worker/index.ts";
import { makeServer } from "./ours-server.ts";

export default edge(makeServer());
