/** Names on which the two sides of the harness, in Node and in workerd, agree. */

/** The Worker under test, in its state folder too. */
export const WORKER_NAME = "worker";
/** Its second isolate. */
export const TWIN_NAME = "twin";
/** The Worker by which a test reaches objects. */
export const CONTROL_NAME = "mcp-edge-testing";
/** The tested Worker's export that moves its clock. */
export const CLOCK = "McpEdgeTestingClock";
/** The method that each Durable Object class gets. */
export const CONTROL = "__mcpEdgeTesting";
