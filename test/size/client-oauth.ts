import { connect } from "../../src/client/index.ts";
import { hostedRedirect, oauth, type WebStorage, webStore } from "../../src/client/oauth/index.ts";

/** A page that signs its user in, lists and calls tools, and answers the questions of the server. */
const auth = oauth({
  redirect: hostedRedirect("https://app.example.com/callback"),
  store: webStore(localStorage),
  clientMetadataUrl: "https://app.example.com/client.json",
});
declare const localStorage: WebStorage;
declare const location: { readonly href: string; readonly search: string };
if (location.search !== "") await auth.finish(location.href);
const client = await connect("https://example.com/mcp", {
  name: "size",
  version: "1.0.0",
  auth,
  onElicit: () => ({ action: "decline" }),
});
for await (const { name } of client.tools()) console.log(name);
console.log(await client.callTool("greet", { name: "Ada" }));
