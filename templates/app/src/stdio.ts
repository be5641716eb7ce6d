/** The plotter over standard input and output, for clients that start it as a process. */
import { serveStdio } from "mcp-edge/node";
import { server } from "./plotter.ts";

await serveStdio(server);
