import { McpServer } from "../../../src/core/index.ts";
import { edge } from "../../../src/worker/index.ts";
import { addTools } from "./named-tools.ts";

const server = new McpServer({ name: "size", version: "1.0.0" });
addTools(server);

export default edge(server);
