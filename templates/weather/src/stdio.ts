/** The same server over standard input and output, for clients that start it themselves. */
import { serveStdio } from "mcp-edge/node";
import { server } from "./weather.ts";

await serveStdio(server);
