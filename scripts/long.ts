/** Runs a long check by its name: `npm run long -- chaos --seeds 10`. Without a name it lists them. */
import { runLong } from "./long/program.ts";

// Some checks leave timers and sockets of other libraries behind, which would keep the process alive.
process.exit(await runLong(process.argv.slice(2)));
