/** The official SDK, version 1, without sessions. It requires a new server and transport for each request. */
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { makeServer } from "./sdk-v1-server.ts";

export default {
  async fetch(request: Request): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await makeServer().connect(transport);
    return transport.handleRequest(request);
  },
};
