/**
 * The reference server: an example of each feature, with the names that the official conformance suite uses.
 *
 * @module
 */
import { McpServer } from "../core/index.ts";
import { addContent } from "./content.ts";
import { addExamples } from "./examples.ts";
import { addNotifications } from "./notifications.ts";
import { addPrompts } from "./prompts.ts";
import { addQuestions } from "./questions.ts";
import { addResources } from "./resources.ts";
import { addSchemas } from "./schemas.ts";
import { addTasks } from "./tasks.ts";

/** Returns a new reference server, so that each test can have its own. */
export function createReferenceServer(): McpServer {
  const server = new McpServer({
    name: "mcp-edge-reference",
    title: "mcp-edge reference server",
    version: "0.1.0",
    instructions: "Has an example of each feature, for conformance suites and for trying out clients.",
  });
  addContent(server);
  addNotifications(server);
  addSchemas(server);
  addExamples(server);
  addQuestions(server);
  addResources(server);
  addPrompts(server);
  addTasks(server);
  return server;
}
