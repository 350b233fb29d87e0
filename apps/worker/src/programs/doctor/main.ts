/**
 * The part of `lehr doctor` that needs the server's modules. Prints one check per line as JSON. The exit code is 0 when all checks
 * were made, whatever their results.
 */
import { parseArgs } from 'node:util';
import { diagnose } from './diagnose.ts';

const { values } = parseArgs({
  options: { 'skip-models': { type: 'boolean' }, upgrade: { type: 'boolean' } },
});
const options = { skipModels: values['skip-models'] ?? false, upgrade: values.upgrade ?? false };
for await (const check of diagnose(process.env, options)) {
  process.stdout.write(`${JSON.stringify(check)}\n`);
}
