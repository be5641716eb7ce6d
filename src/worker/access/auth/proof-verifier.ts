/**
 * The interface between `bearer()` and `dpop()`, which verifies proofs of possession.
 *
 * @module
 */
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";
import type { Refused } from "../../../http/refusal.ts";
import type { AddsClasses } from "../../added-classes.ts";
import type { OBJECTS, ObjectRole } from "../../object.ts";
import type { EndpointServices } from "../../plugin.ts";
import type { Problem } from "../../problems.ts";

/** The error codes of RFC 9449, section 7.1. */
export type ProofError = "invalid_dpop_proof" | "use_dpop_nonce";

/** A token that was accepted, with the request that it came with. */
export interface BoundToken {
  /** The request, with its proof. */
  readonly request: Request;
  /** The bindings of the Worker. */
  readonly env: unknown;
  /** The option `resource` of `bearer()`. */
  readonly resource: string | undefined;
  /** The access token. */
  readonly token: string;
  /** The claim `cnf` of the token: the key that it is bound to (RFC 7800). */
  readonly cnf: unknown;
}

/** The reason for which a proof is refused. */
export interface ProofProblem {
  /** The error code of the challenge. */
  readonly error: "invalid_token" | ProofError;
  /** The reason, as a sentence that contains nothing of the token or the proof. */
  readonly message: string;
  /** Further headers of the response. */
  readonly headers?: Record<string, string>;
}

/**
 * Verifies proofs of possession. Created by `dpop()` of `mcp-edge/worker/durable`, for the option `dpop` of `bearer()`. Its other
 * members are internal.
 */
export interface ProofVerifier<Classes = unknown> extends AddsClasses<Classes> {
  /** Whether every token must be bound to a key. */
  readonly isRequired: boolean;
  /**
   * Creates the class of the objects that store used proofs.
   *
   * @internal
   */
  readonly objects: typeof OBJECTS;
  /**
   * Joins an endpoint. Returns the role that its objects get.
   *
   * @internal
   */
  attach(endpoint: EndpointServices): ObjectRole<unknown>;
  /**
   * The beginning of the challenge.
   *
   * @internal
   */
  readonly challenge: string;
  /**
   * Members of the metadata of the resource.
   *
   * @internal
   */
  readonly metadata: JsonObject;
  /**
   * Finds problems in the configuration of the Worker, such as missing keys.
   *
   * @internal
   */
  findProblems(env: unknown): Problem[];
  /**
   * Returns why a token with a proof is refused, or undefined if it is accepted.
   *
   * @internal
   */
  check(bound: BoundToken): Promise<ProofProblem | Refused | undefined>;
  /**
   * Verifies the proof of a request for a token, which is not bound to a key yet.
   *
   * @param url The URL of the token endpoint.
   * @returns The thumbprint of the key (RFC 7638), or why the proof is refused.
   * @internal
   */
  prove(request: Request, env: unknown, url: string): Promise<string | ProofProblem | Refused>;
}
