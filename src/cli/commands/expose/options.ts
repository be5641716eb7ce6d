/** The options of `expose`. */
export interface ExposeOptions {
  /** Whether a server that a file of the project configures is started without asking. */
  readonly yes?: boolean;
  readonly json?: boolean;
  readonly as?: string;
  /** Variables for the processes of the server, each as `NAME=VALUE` or `NAME`. */
  readonly env?: readonly string[];
  readonly debug?: boolean;
  /** The port; 0 for any free one. */
  readonly port: number;
  /** Whether requests need a token. */
  readonly token: boolean;
}
