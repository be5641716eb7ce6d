import { InvalidArgumentError } from "commander";

/** Reads an option that is a number, such as 100 or 0.5. */
export function number(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Write a number, such as 100.");
}
