/** Which addresses are public, compared with Node's own parser and block lists. */
import { BlockList, isIP } from "node:net";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPublicAddress } from "../../src/safe/index.ts";

describe("isPublicAddress", () => {
  test.each([
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "168.63.129.15",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "[2606:4700:4700::1111]",
    "2a00:1450:4001:81b::200e",
    "2001:4860:4860::8888",
    "64:ff9b::808:808",
  ])("%s is public", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:a9fe:a9fe",
    "::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::127.0.0.1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "3fff:0fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
  ])("%s is not public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
    expect(isPublicAddress(`[${address}]`)).toBe(false);
  });

  test.each([
    "",
    "example.com",
    "1.1.1",
    "1.1.1.1.1",
    "01.1.1.1",
    "256.1.1.1",
    "1.1.1.1.",
    "0x7f.1",
    "2606::4700::1",
    "2606:4700",
    "1:2:3:4:5:6:7:8:9",
    "2606:4700::1%eth0",
    "::1.2.3",
    "12345::",
    "[::1",
    ":1:2:3:4:5:6:7",
    "2606:4700:::1",
  ])("%j is not an address, so it is not public", (text) => {
    expect(isPublicAddress(text)).toBe(false);
  });

  const special = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const [network, bits] of [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["192.88.99.0", 24],
    ["192.168.0.0", 16],
    ["198.18.0.0", 15],
    ["198.51.100.0", 24],
    ["203.0.113.0", 24],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4],
  ] as const)
    special.ipv4.addSubnet(network, bits, "ipv4");
  special.ipv4.addAddress("168.63.129.16");
  // Everything that is not global unicast.
  for (const [network, bits] of [
    ["::", 3],
    ["4000::", 2],
    ["8000::", 1],
    ["2001::", 23],
    ["2001:db8::", 32],
    ["2002::", 16],
    ["3fff::", 20],
  ] as const)
    special.ipv6.addSubnet(network, bits, "ipv6");

  test("agrees with a block list of Node for every IPv4 address", () => {
    const near = fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 203, 224, 240);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.ipV4(),
          fc.tuple(near, fc.nat(255), fc.nat(255), fc.nat(255)).map((bytes) => bytes.join(".")),
        ),
        (address) => {
          expect(isPublicAddress(address)).toBe(!special.ipv4.check(address, "ipv4"));
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test("agrees with a block list of Node for every IPv6 address outside NAT64", () => {
    const near = fc.constantFrom(
      "2001:0:",
      "2001:1ff:",
      "2001:200:",
      "2001:db8:",
      "2001:db9:",
      "2002:",
      "3fff:",
      "3fff:1000:",
      "2606:",
      "fe80:",
      "fd00:",
    );
    const group = fc.nat(0xffff).map((value) => value.toString(16));
    const built = fc
      .tuple(near, fc.array(group, { minLength: 1, maxLength: 4 }))
      .map(([start, rest]) => `${start}:${rest.join(":")}`.replace(/::+/, "::"));
    fc.assert(
      fc.property(fc.oneof(fc.ipV6(), built), (address) => {
        fc.pre(isIP(address) === 6 && !/^0*64:ff9b:/i.test(address));
        expect(isPublicAddress(address)).toBe(!special.ipv6.check(address, "ipv6"));
      }),
      { numRuns: 3_000 },
    );
  });

  test("no string is public unless Node accepts it as an address", () => {
    const pieces = fc.constantFrom("1", "8", ".", ":", "::", "2606", "f", "[", "]", "%", "0x", " ", "255", "ffff");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(pieces, { maxLength: 16 }).map((each) => each.join("")),
        ),
        (text) => {
          if (isPublicAddress(text)) expect(isIP(text.replace(/^\[(.*)\]$/, "$1"))).not.toBe(0);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});
