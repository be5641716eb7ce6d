import { createHmac, randomBytes } from "node:crypto";

/** Returns a hash function with a random key that only exists in this process, so that hashed values cannot be guessed. */
export function createHash(): (text: string) => string {
  const key = randomBytes(16);
  return (text) => createHmac("sha256", key).update(text).digest("hex");
}
