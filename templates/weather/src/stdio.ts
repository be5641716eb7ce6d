/** The weather server over standard input and output, for clients that start it as a process. */
import { serveStdio } from "mcp-edge/node";
import { server } from "./weather.ts";

await serveStdio(server);
