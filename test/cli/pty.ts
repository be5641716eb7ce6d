/** Runs the command line in a pseudo-terminal, as a person would see it. */
import { stripVTControlCharacters } from "node:util";
import { type IPty, spawn } from "@lydell/node-pty";
import { NODE } from "../oracle/node.ts";
import { CLI, SERVER } from "./run.ts";

/** The keys that the tests press. */
export const KEYS = { enter: "\r", down: "\u001b[B", escape: "\u001b", space: " ", ctrlC: "\u0003" } as const;

/** A program in a terminal of 100 columns. */
export class Screen implements Disposable {
  readonly #pty: IPty;
  #raw = "";
  #code: number | undefined;
  #wake = () => {};

  /** @param args The arguments of mcp-edge. */
  constructor(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    program: readonly string[] = [NODE, CLI],
    cwd?: string,
  ) {
    const whole = { ...process.env, NO_COLOR: "", TERM: "xterm-256color", CI: "", ...env };
    const [file = "", ...rest] = [...program, ...args];
    this.#pty = spawn(file, rest, { cols: 100, rows: 50, env: whole, ...(cwd === undefined ? {} : { cwd }) });
    this.#pty.onData((data) => {
      this.#raw += data;
      this.#wake();
    });
    this.#pty.onExit(({ exitCode, signal }) => {
      this.#code = signal ? 128 + signal : exitCode;
      this.#wake();
    });
  }

  /** Runs a line of a shell instead of the program. */
  static ofShell(line: string): Screen {
    return new Screen([line], {}, ["sh", "-c"]);
  }

  /** Everything that was written, with escape sequences. */
  get raw(): string {
    return this.#raw;
  }

  /** Everything that was written, without escape sequences. */
  get text(): string {
    return stripVTControlCharacters(this.#raw).replaceAll("\r\n", "\n");
  }

  /** The id of the program. */
  get pid(): number {
    return this.#pty.pid;
  }

  /** Presses keys. */
  press(...keys: readonly string[]): void {
    for (const key of keys) this.#pty.write(key);
  }

  /** Resolves when the text has appeared. Fails if the program ends without it. */
  async shows(text: string): Promise<void> {
    await this.#until(() => this.text.includes(text) || this.#code !== undefined);
    if (!this.text.includes(text))
      throw new Error(`The program ended without showing ${JSON.stringify(text)}:\n${this.text}`);
  }

  /** Resolves with the exit code when the program has ended. */
  async ended(): Promise<number> {
    await this.#until(() => this.#code !== undefined);
    return this.#code ?? -1;
  }

  [Symbol.dispose](): void {
    if (this.#code === undefined) this.#pty.kill("SIGKILL");
  }

  async #until(isMet: () => boolean): Promise<void> {
    while (!isMet()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** Starts the program with the stdio server after `--`. */
export function screenWithServer(args: readonly string[], env?: Readonly<Record<string, string>>): Screen {
  return new Screen([...args, "--", ...SERVER], env);
}
