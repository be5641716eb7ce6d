import { McpServer } from "../../src/core/index.ts";
import { edge, page } from "../../src/worker/index.ts";
import { nameSchema } from "./tool.ts";

const server = new McpServer({ name: "size", version: "1.0.0" });
server.tool("greet", { input: nameSchema }, ({ name }) => `Hello, ${name}!`);

export default edge(server, { use: [page()] });
