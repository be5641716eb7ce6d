/**
 * The address of the server: name, encryption, and whether it can be reached.
 *
 * @module
 */
import { isPublicHost } from "../../../core/basics/addresses.ts";
import { isLoopback } from "../../../http/origin.ts";
import type { HostName } from "../../host-profiles/profile.ts";
import { hostsWithout, PROFILES } from "../../host-profiles/profiles.ts";
import type { Diagnosis, FindingInput } from "./diagnosis.ts";
import type { NoResponse } from "./exchange.ts";

/** The hosts that connect over the internet. */
export const CLOUD_HOSTS: readonly HostName[] = PROFILES.filter(({ isCloud }) => isCloud?.value).map(
  ({ name }) => name,
);

const LOCAL_HOSTS = PROFILES.map(({ name }) => name).filter((name) => !CLOUD_HOSTS.includes(name));

/** Whether hosts that connect over the internet can reach a URL. */
export function isPublicUrl({ hostname }: URL): boolean {
  return isPublicHost(hostname);
}

/** Adds a finding if the connection is not encrypted. */
export function checkAddress(url: URL, diagnosis: Diagnosis): void {
  if (url.protocol === "https:" || isLoopback(url.hostname)) return;
  const finding = {
    id: "plain-http",
    step: "address",
    fault: "configuration",
    what: `The address is not encrypted (http:), so everyone on the network path to ${url.host} can read tokens and results.`,
    fix: `Serve it over TLS, and enter https://${url.host}${url.pathname} in the host.`,
  } as const;
  diagnosis.add({ ...finding, severity: "breaks", hosts: CLOUD_HOSTS });
  diagnosis.add({ ...finding, severity: "degrades", hosts: LOCAL_HOSTS, notKnown: hostsWithout("isCloud") });
}

const TLS = /^(?:CERT_|ERR_TLS|ERR_SSL|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|EPROTO|HOSTNAME_MISMATCH)/;
const REFUSED = /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/;

/** Describes why the server cannot be reached. */
export function explainFailure({ host }: URL, { failure, message }: NoResponse): FindingInput {
  const common = { step: "address", severity: "breaks", fault: "network" } as const;
  if (failure === "ENOTFOUND" || failure === "EAI_AGAIN") {
    const fix = "Check the spelling, and create the DNS record of the host name.";
    return { ...common, id: "dns-unknown", what: `The host name ${host} cannot be resolved (${failure}).`, fix };
  }
  if (TLS.test(failure)) {
    const what = `The certificate of ${host} is not accepted: ${message} (${failure}).`;
    const fix = "Install a certificate of a public authority for this name, with its intermediate certificates.";
    return { ...common, fault: "configuration", id: "tls-invalid", what, fix };
  }
  if (REFUSED.test(failure)) {
    const what = `Nothing accepts connections at ${host} (${failure}).`;
    return { ...common, id: "connection-refused", what, fix: "Start the server, and check the port and the firewall." };
  }
  if (failure === "timeout") {
    const fix = "Check what the server does on initialize, and whether a proxy holds the response back.";
    return { ...common, id: "no-response", what: `${host} sent ${message}.`, fix };
  }
  const what = `The connection to ${host} failed before a response was complete: ${message} (${failure}).`;
  return {
    ...common,
    id: "connection-broken",
    what,
    fix: "Look at the log of the server and of proxies in front of it.",
  };
}
