/**
 * The part of `lehr doctor` that needs the server's own modules. Prints one check per line as JSON; exits with 0 when it got to
 * the end, whatever it found.
 */
import { parseArgs } from 'node:util';
import { diagnose } from './diagnose.ts';

const { values } = parseArgs({ options: { 'skip-models': { type: 'boolean' } } });
for await (const check of diagnose(process.env, { skipModels: values['skip-models'] ?? false })) {
  process.stdout.write(`${JSON.stringify(check)}\n`);
}
