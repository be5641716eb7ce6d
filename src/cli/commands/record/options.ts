/** The options of `record`. */
export interface RecordOptions {
  /** Whether a server that a file of the project configures is started without asking. */
  readonly yes?: boolean;
  /** Headers, each as `Name: value`. */
  readonly header?: readonly string[];
  /** Variables for the processes of the server, each as `NAME=VALUE` or `NAME`. */
  readonly env?: readonly string[];
  /** The port; 0 for any free one. */
  readonly port: number;
  /** Whether arguments and results are recorded as they are. */
  readonly contents?: boolean;
  /** The file that the recording is written to. */
  readonly out?: string;
}
