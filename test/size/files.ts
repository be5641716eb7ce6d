import { McpServer } from "../../src/core/index.ts";
import { addFiles, file, withFiles } from "../../src/files/index.ts";
import { files } from "../../src/worker/files/index.ts";
import { edge } from "../../src/worker/index.ts";
import { keys } from "../../src/worker/keys/index.ts";
import { nameSchema } from "./tool.ts";

const server = new McpServer({ name: "size", version: "1.0.0" });
const store = addFiles(server);
const input = withFiles(nameSchema, { letter: file() });
server.tool("greet", { input }, async ({ name, letter }, ctx) => {
  return `Hello, ${name}! ${await (await store.open(letter, ctx)).text()}`;
});

export default edge(server, { use: [keys(), files(store)] });
