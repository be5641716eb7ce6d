/**
 * Decides from an address or a name whether a host is public. Hosts of private networks, this machine and the metadata
 * services of clouds are not.
 *
 * @module
 * @see IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890)
 */

/** An IPv4 address in dotted decimal notation, as `URL` writes it and as resolvers return it. */
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/**
 * IPv4 networks that are not public: this network, private networks, loopback, link-local (with the metadata services
 * of clouds), carrier-grade NAT (100.64.0.0/10), protocol assignments, documentation, 6to4 relays, benchmarks,
 * multicast and reserved networks; and 168.63.129.16, the metadata and DNS address of Azure.
 */
const SPECIAL_IPV4 =
  /^(?:0|10|127|169\.254|172\.(?:1[6-9]|2\d|3[01])|192\.(?:168|88\.99|0\.[02])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])|198\.(?:1[89]|51\.100)|203\.0\.113|168\.63\.129\.16|22[4-9]|2[3-5]\d)(?:\.|$)/;

/**
 * The global unicast addresses (2000::/3), and its ranges that are not public: protocol assignments with Teredo,
 * documentation, 6to4.
 */
const GLOBAL_IPV6 = /^[23][\da-f]{3}:/;
const SPECIAL_IPV6 = /^(?:2001:(?::|1?[\da-f]{1,2}:|db8:)|2002:|3fff:(?::|[\da-f]{1,3}:))/;

/** Addresses of NAT64 (RFC 6052) lead to the IPv4 address in their last 32 bits. */
const NAT64 = /^64:ff9b::(?:([\da-f]+):)?([\da-f]+)$/;

/**
 * Names that are not in the public DNS: the special names of RFC 6761, 6762 and 9476, names that ICANN does not
 * delegate, the names that Kubernetes, Consul, Nomad and Docker define, and the metadata service of Google Cloud.
 */
const LOCAL_NAME = new RegExp(
  `(?:^|\\.)(?:${
    "localhost localdomain localnet local internal intranet lan home corp mail private priv loc test invalid onion alt arpa " +
    "svc pod cluster k8s kube consul nomad docker swarm vpn mesh vm workgroup domain dhcp router metadata.goog"
  })$`.replace(/ /g, "|"),
);

/**
 * Whether a string is a public IP address: IPv4 in dotted decimal notation, or IPv6 with or without brackets. False for
 * any other string, so that an unknown notation never counts as public. `URL` converts all notations of a host
 * (decimal, octal, hexadecimal, short, full-width) to these.
 */
export function isPublicAddress(address: string): boolean {
  if (IPV4.test(address)) return !SPECIAL_IPV4.test(address);
  const text = canonicalIpv6(address) ?? "";
  const [, high = "0", low] = NAT64.exec(text) ?? [];
  if (low === undefined) return GLOBAL_IPV6.test(text) && !SPECIAL_IPV6.test(text);
  const bytes = [high, low].map((group) => Number.parseInt(group, 16)).flatMap((value) => [value >> 8, value & 255]);
  return !SPECIAL_IPV4.test(bytes.join("."));
}

/** Whether a string is an IP address, public or not. */
export function isAddress(host: string): boolean {
  return IPV4.test(host) || canonicalIpv6(host) !== undefined;
}

/** Whether a host, given as a name or an address, is public. @param host In lower case, without a final dot. */
export function isPublicHost(host: string): boolean {
  return isAddress(host) ? isPublicAddress(host) : host.includes(".") && !LOCAL_NAME.test(host);
}

/**
 * Returns the shortest notation of an IPv6 address (RFC 5952); undefined if it is not one. Zones (`%eth0`) are not
 * accepted.
 */
function canonicalIpv6(text: string): string | undefined {
  const url = text.startsWith("[") ? `http://${text}` : `http://[${text}]`;
  return /^(\[[\da-f:.]+\]|[\da-f:.]+)$/i.test(text) && URL.canParse(url)
    ? new URL(url).hostname.slice(1, -1)
    : undefined;
}
