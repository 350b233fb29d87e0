/** An error that the user can fix: printed as its message alone, without a stack. */
export class Problem extends Error {}

/** Prints the error and ends the process with exit code 1. */
export function die(error) {
  console.error(`\n${error instanceof Problem ? error.message : error.stack}`);
  process.exit(1);
}
