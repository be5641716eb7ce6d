import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Returns the folder in which this program stores the user's data, such as tokens. */
export function configFolder({ APPDATA, XDG_CONFIG_HOME }: NodeJS.ProcessEnv): string {
  const given = (process.platform === "win32" && APPDATA) || XDG_CONFIG_HOME || "";
  // A relative path would put the tokens into the current folder. The XDG specification says that relative paths are ignored.
  return join(isAbsolute(given) ? given : join(homedir(), ".config"), "mcp-edge");
}
