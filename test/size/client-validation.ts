import { connect } from "../../src/client/index.ts";
import { validation } from "../../src/client/validation/index.ts";

/** The page of client.ts, with validation of structured results. */
const client = await connect("https://example.com/mcp", {
  name: "size",
  version: "1.0.0",
  onElicit: () => ({ action: "decline" }),
  use: [validation()],
});
for await (const { name } of client.tools()) console.log(name);
console.log(await client.callTool("greet", { name: "Ada" }));
