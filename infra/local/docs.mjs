/** npm run docs: writes what is made from the code into the README. */
import './node-version.mjs';
import './typescript.mjs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './command.mjs';

const { withEnvTable } = await import('./env-table.ts');
const path = join(ROOT, 'README.md');
const before = await readFile(path, 'utf8');
const after = withEnvTable(before);
await writeFile(path, after);
console.log(after === before ? 'README.md was up to date.' : 'README.md is up to date again.');
