/**
 * Tells public IP addresses from those of private networks, this machine and cloud metadata.
 *
 * @module
 * @see IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890)
 */

/** IPv4 networks that are not public, as the first address and the length of the prefix. */
const IPV4_NETWORKS: readonly (readonly [network: string, bits: number])[] = [
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // shared by a provider; cloud metadata at 100.100.100.200
  ["127.0.0.0", 8], // loopback
  ["168.63.129.16", 32], // metadata and DNS of a cloud, although the address is public
  ["169.254.0.0", 16], // link-local; cloud metadata at 169.254.169.254
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 3], // multicast, reserved, broadcast
];

/** Networks within 2000::/3, the global unicast addresses, that are not public. */
const IPV6_NETWORKS: readonly (readonly [groups: readonly number[], bits: number])[] = [
  [[0x2001, 0], 23], // protocol assignments, Teredo
  [[0x2001, 0xdb8], 32], // documentation
  [[0x2002], 16], // 6to4: contains an IPv4 address
  [[0x3fff], 20], // documentation
];

/** An IPv4 address in dotted decimal notation, as `URL` writes it and as resolvers return it. */
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/**
 * Whether a text is a public IP address: IPv4 in dotted decimal notation, or IPv6 with or without brackets. False for
 * every other text, so that an unknown notation is never taken for public. `URL` converts all notations of a host
 * (decimal, octal, hexadecimal, short, full-width) to these.
 */
export function isPublicAddress(address: string): boolean {
  if (IPV4.test(address)) return isPublicIpv4(address);
  const groups = parseIpv6(address.replace(/^\[(.*)\]$/, "$1"));
  if (!groups) return false;
  // Addresses of NAT64 (RFC 6052) lead to the IPv4 address in their last 32 bits.
  if (hasPrefix(groups, [0x64, 0xff9b, 0, 0, 0, 0], 96)) return isPublicIpv4(lastIpv4(groups));
  return hasPrefix(groups, [0x2000], 3) && !IPV6_NETWORKS.some(([network, bits]) => hasPrefix(groups, network, bits));
}

/** Whether a text is an IP address, public or not. */
export function isAddress(host: string): boolean {
  return IPV4.test(host) || parseIpv6(host.replace(/^\[(.*)\]$/, "$1")) !== undefined;
}

function isPublicIpv4(address: string): boolean {
  const value = ipv4ToNumber(address);
  return !IPV4_NETWORKS.some(([network, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(value / size) === Math.floor(ipv4ToNumber(network) / size);
  });
}

function ipv4ToNumber(address: string): number {
  return address.split(".").reduce((value, byte) => value * 256 + Number(byte), 0);
}

function lastIpv4(groups: readonly number[]): string {
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 255])
    .join(".");
}

/** Returns the eight groups of an IPv6 address; undefined if it is none. Zones (`%eth0`) are not accepted. */
function parseIpv6(text: string): readonly number[] | undefined {
  if (!/^[\da-f:.]{2,45}$/i.test(text)) return undefined;
  const [, start = text, ipv4] = /^(.*:)(\d[\d.]*\.[\d.]*)$/.exec(text) ?? [];
  if (ipv4 !== undefined && !IPV4.test(ipv4)) return undefined;
  const value = ipv4 === undefined ? 0 : ipv4ToNumber(ipv4);
  const whole = ipv4 === undefined ? text : `${start}${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;
  const halves = whole.split("::");
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const zeros = 8 - head.length - tail.length;
  if (halves.length === 2 ? zeros < 1 : zeros !== 0) return undefined;
  const groups = [...head, ...Array<string>(zeros).fill("0"), ...tail];
  if (!groups.every((group) => /^[\da-f]{1,4}$/i.test(group))) return undefined;
  return groups.map((group) => Number.parseInt(group, 16));
}

function hasPrefix(groups: readonly number[], network: readonly number[], bits: number): boolean {
  for (let at = 0; at * 16 < bits; at++) {
    const shift = Math.max(0, 16 - (bits - at * 16));
    if ((groups[at] ?? 0) >> shift !== (network[at] ?? 0) >> shift) return false;
  }
  return true;
}
