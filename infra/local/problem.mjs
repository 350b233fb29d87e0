/** An error that the user can fix: printed as its message alone, without a stack. */
export class Problem extends Error {}
