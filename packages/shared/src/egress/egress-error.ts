/** Why a request to an address somebody else chose did not go through. */

const MESSAGES = {
  /** The rules forbid it, or its name has no address: one text for both, so that nobody learns what lies inside. */
  refused: 'Lehr does not connect to this address.',
  /** No connection, no secure one, or it broke. */
  unreachable: 'The connection failed.',
  timeout: 'There was no complete answer in time.',
  'too-large': 'The answer is larger than allowed.',
} as const;

export type EgressFault = keyof typeof MESSAGES;

/** The message never says more than the fault; what happened stands in `cause`, for our own log. */
export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly fault: EgressFault;

  constructor(fault: EgressFault, cause?: unknown) {
    super(MESSAGES[fault], { cause });
    this.fault = fault;
  }
}
