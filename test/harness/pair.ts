/** Two connected transports in memory. */
export { createPair } from "../../src/testing/pair.ts";
