import { McpServer } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { addTools } from "./tools.ts";

const server = new McpServer({ name: "size", version: "1.0.0" });
addTools(server);

export default edge(server);
