/** A company whose assertions the Worker of this folder accepts. Its keys are fixed, because the Worker of each release contains them. */

/** The key that signs the assertions. It is used by these tests only. */
export const COMPANY_KEY = {
  kty: "EC",
  crv: "P-256",
  x: "hi5Hq7o74yJlPdlTs9J4unu9Y-gpN5iVdP2bXgX7oys",
  y: "YshiKG2Hfhthvpwzd8UCnuhp4xfDbg-m3N7FHCgQaTc",
  d: "n0tmPTY5gVH94ITHqeYVU1w9UREWmMdAtL5lXC3efZY",
};

const { d: _, ...PUBLIC_KEY } = COMPANY_KEY;

export const COMPANY = { issuer: "https://company.example", jwks: { keys: [PUBLIC_KEY] } };
