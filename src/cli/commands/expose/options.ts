/** The options of `expose`. */
export interface ExposeOptions {
  /** Whether to start a server from a file of the project without asking. */
  readonly yes?: boolean;
  readonly json?: boolean;
  readonly as?: string;
  /** Environment variables for the processes of the server, each as `NAME=VALUE` or `NAME`. */
  readonly env?: readonly string[];
  readonly debug?: boolean;
  /** The port; 0 chooses a free one. */
  readonly port: number;
  /** Whether requests need a token. */
  readonly token: boolean;
}
