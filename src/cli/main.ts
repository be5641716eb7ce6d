/**
 * The entry point of the command line.
 *
 * @module
 */
import "../node/node-20.ts";
import { runDev } from "./commands/dev.ts";
import { run } from "./program.ts";
import { watchOutput } from "./terminal/output.ts";

watchOutput();

const [command, ...rest] = process.argv.slice(2);
// `dev` passes the options that it does not know to wrangler.
const code = command === "dev" ? await runDev(rest) : await run(process.argv.slice(2));
// Anything that is still open, such as an idle connection, must not keep the process alive.
process.stdout.write("", () => process.exit(code));
