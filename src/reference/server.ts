/**
 * The reference server: an example of each feature, with the names that the official conformance suite uses.
 *
 * @module
 */
import { McpServer } from "../core/index.ts";
import { addContent } from "./content.ts";
import { addExamples } from "./examples.ts";
import { inGroup } from "./in-group.ts";
import { addNotifications } from "./notifications.ts";
import { addPrompts } from "./prompts.ts";
import { addQuestions } from "./questions.ts";
import { addResources } from "./resources.ts";
import { addSchemas } from "./schemas.ts";
import { addTasks } from "./tasks.ts";
import { addTour } from "./tour.ts";

/**
 * Returns a new reference server, so that each test can have its own. It lists what a person would try before the fixtures of the
 * official suite.
 */
export function createReferenceServer(): McpServer {
  const server = new McpServer({
    name: "mcp-edge-reference",
    title: "mcp-edge reference server",
    version: "0.1.0",
    description: "An example of each thing that mcp-edge does, and the fixtures of the official conformance suite.",
    instructions: "Has an example of each feature, for conformance suites and for trying out clients.",
  });
  addTour(server);
  addFixtures(inGroup(server, "Official suite"));
  return server;
}

/** Adds the definitions that the official suite calls by their names. */
function addFixtures(server: McpServer): void {
  addContent(server);
  addNotifications(server);
  addSchemas(server);
  addExamples(server);
  addQuestions(server);
  addResources(server);
  addPrompts(server);
  addTasks(server);
}
