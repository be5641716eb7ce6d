import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Returns the folder in which this program keeps what belongs to the user, such as tokens. */
export function configFolder({ APPDATA, XDG_CONFIG_HOME }: NodeJS.ProcessEnv): string {
  const given = (process.platform === "win32" && APPDATA) || XDG_CONFIG_HOME || "";
  // A relative path would put the tokens into the current folder, such as a project. XDG says that it is ignored.
  return join(isAbsolute(given) ? given : join(homedir(), ".config"), "mcp-edge");
}
