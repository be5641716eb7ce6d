/** Returns whether an IP address is a loopback address. */
export function isLoopback(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\./.test(address);
}
