import { connect } from "../../src/client/index.ts";

/** A page that lists and calls tools, and answers the questions of the server. */
const client = await connect("https://example.com/mcp", {
  name: "size",
  version: "1.0.0",
  onElicit: () => ({ action: "decline" }),
});
for await (const { name } of client.tools()) console.log(name);
console.log(await client.callTool("greet", { name: "Ada" }));
