/** The official SDK, version 2: its own handler for web-standard servers. */
import { createMcpHandler } from "@modelcontextprotocol/server";
import { makeServer } from "./sdk-v2-server.ts";

export default createMcpHandler(makeServer);
