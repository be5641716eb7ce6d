import { McpServer } from "../../src/core/index.ts";
import { bearer } from "../../src/worker/access/auth/index.ts";
import { edge } from "../../src/worker/index.ts";
import { nameSchema } from "./tool.ts";

const server = new McpServer({ name: "size", version: "1.0.0" });
server.tool("greet", { input: nameSchema }, ({ name }) => `Hello, ${name}!`);

export default edge(server, { use: [bearer({ issuer: "https://login.example.com" })] });
