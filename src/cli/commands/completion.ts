import { Argument, type Command } from "commander";
import type { CliCommand } from "../command.ts";

/** `mcp-edge completion`: prints the completion script of a shell. */
export const completion: CliCommand = {
  name: "completion",
  define: (command: Command) =>
    command
      .description("print a script for completion of mcp-edge commands in your shell")
      .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
      .addHelpText(
        "after",
        `
Add one of these lines to the configuration of your shell:
  bash  ~/.bashrc                    eval "$(mcp-edge completion bash)"
  zsh   ~/.zshrc, after compinit     eval "$(mcp-edge completion zsh)"
  fish  ~/.config/fish/config.fish   mcp-edge completion fish | source`,
      )
      .action(async (shell: "bash" | "zsh" | "fish") => {
        const { SCRIPTS } = await import("../completion.ts");
        process.stdout.write(SCRIPTS[shell]);
      }),
};
