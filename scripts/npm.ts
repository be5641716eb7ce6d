/** How to start npm: on Windows it is a batch file, which Node starts only with a shell. */

/** A command for `spawn` or `execFile`. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: { readonly shell: boolean };
}

/** Returns how to run npm with arguments on a system. With a shell, arguments that contain spaces are quoted. */
export function npm(args: readonly string[], platform: string = process.platform): Command {
  if (platform !== "win32") return { command: "npm", args, options: { shell: false } };
  return { command: "npm.cmd", args: args.map(quote), options: { shell: true } };
}

function quote(argument: string): string {
  if (/["%!^&|<>]/.test(argument)) throw new Error(`${argument} cannot be passed to a batch file.`);
  return /\s|^$/.test(argument) ? `"${argument}"` : argument;
}
