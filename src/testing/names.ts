/** Names shared by the two sides of the test harness, in Node and in workerd. */

/** The Worker under test. Its state folder uses this name as well. */
export const WORKER_NAME = "worker";
/** The second isolate of the Worker under test. */
export const TWIN_NAME = "twin";
/** The Worker through which a test calls objects. */
export const CONTROL_NAME = "mcp-edge-testing";
/** The export of the Worker under test that moves its clock. */
export const CLOCK = "McpEdgeTestingClock";
/** The method that is added to each Durable Object class. */
export const CONTROL = "__mcpEdgeTesting";
