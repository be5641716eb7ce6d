/** Names that both sides of the test harness use, in Node and in workerd. */

/** The Worker under test. The name is also used in its state folder. */
export const WORKER_NAME = "worker";
/** The second isolate of the Worker under test. */
export const TWIN_NAME = "twin";
/** The Worker through which a test calls objects. */
export const CONTROL_NAME = "mcp-edge-testing";
/** The export of the Worker under test that moves its clock. */
export const CLOCK = "McpEdgeTestingClock";
/** The method that the test harness adds to each Durable Object class. */
export const CONTROL = "__mcpEdgeTesting";

/** The default names of the kit's class and its binding, as in src/worker/used.ts. */
export const KIT_CLASS = "McpObject";
export const KIT_BINDING = "MCP";
