/** The arguments of a program that is started with npm run. */
import { parseArgs } from 'node:util';
import { Problem } from './problem.mjs';

/**
 * Reads `args`, without them the arguments of this process, by the options of parseArgs. `--help` prints what `help` returns and ends the process. Throws a
 * Problem of one line for an option that there is not, or one without its value.
 */
export async function readCommandLine({ args, options, help }) {
  const { values, positionals } = parsed(args, {
    ...options,
    help: { type: 'boolean', short: 'h', default: false },
  });
  const { help: wantsHelp, ...others } = values;
  if (!wantsHelp) return { values: others, positionals };
  process.stdout.write(await help());
  process.exit(0);
}

function parsed(args, options) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    // Node adds how to pass a name that begins with a hyphen, and no name here does.
    throw new Problem(`${error.message.split(/\.\s/)[0]}. --help lists the options.`);
  }
}
