#!/usr/bin/env node
// `npm create mcp-edge my-server` is `mcp-edge new my-server`.
process.argv.splice(2, 0, "new");
await import(new URL("bin/mcp-edge.js", import.meta.resolve("mcp-edge/package.json")).href);
