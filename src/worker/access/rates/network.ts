/**
 * The part of an IP address that identifies a subscriber.
 *
 * @module
 */

/**
 * Returns the first 64 bits of an IPv6 address, because a subscriber can use every address that begins with them (RFC
 * 6177). Returns an IPv4 address unchanged, and an IPv4-mapped IPv6 address as its IPv4 address.
 */
export function toNetwork(address: string): string {
  if (!address.includes(":")) return address;
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  const [left = [], right = []] = address.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0");
  const groups = [...left, ...zeros, ...right].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
