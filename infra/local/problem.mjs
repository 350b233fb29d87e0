/** What stops a program here and is the user's to solve: shown as its message alone, without a stack. */
export class Problem extends Error {}

/** Prints what went wrong and ends the process. */
export function die(error) {
  console.error(`\n${error instanceof Problem ? error.message : error.stack}`);
  process.exit(1);
}
