/** The advice of every refusal of an address. */
export const PRIVATE_HOSTS = 'LEHR_EGRESS_ALLOW names the private hosts that are allowed';

/** Why a request to a caller's address failed. */
const MESSAGES = {
  /** Forbidden by the rules, or the name has no address. One text for both, so that it reveals nothing about the network. */
  refused: `Lehr does not connect to this address; ${PRIVATE_HOSTS}.`,
  /** The connection or its TLS failed, or it broke. */
  unreachable: 'The connection failed.',
  timeout: 'There was no complete answer in time.',
  'too-large': 'The answer is larger than allowed.',
} as const;

export type EgressFault = keyof typeof MESSAGES;

/** The message reveals only the kind of fault; `cause` has the details, for Lehr's log. */
export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly fault: EgressFault;

  constructor(fault: EgressFault, cause?: unknown) {
    super(MESSAGES[fault], { cause });
    this.fault = fault;
  }
}
