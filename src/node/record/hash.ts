import { createHmac, randomBytes } from "node:crypto";

/** Returns a hash with a key that is forgotten with this process, so that nobody can find what was hashed. */
export function createHash(): (text: string) => string {
  const key = randomBytes(16);
  return (text) => createHmac("sha256", key).update(text).digest("hex");
}
