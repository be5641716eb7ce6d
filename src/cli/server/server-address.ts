/** How to reach a server: by a URL, or by a command that starts it. */
export type ServerAddress =
  | { readonly kind: "http"; readonly url: string; readonly headers?: Readonly<Record<string, string>> | undefined }
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env?: Readonly<Record<string, string>> | undefined;
      readonly cwd?: string | undefined;
    };
