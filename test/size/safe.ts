/** A program that uses one helper. */
import { cleanText } from "../../src/safe/index.ts";

export default { clean: (text: string) => cleanText(text) };
