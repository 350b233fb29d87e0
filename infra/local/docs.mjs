/**
 * npm run docs: writes what is made from the code: the table of docs/settings.md, the client's types, alerts, dashboards, and the
 * version of the chart.
 */
import './node-version.mjs';
import './typescript.mjs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { clientTypes } from '../../packages/client-types/client-types.mjs';
import { ROOT } from './command.mjs';

const { withEnvTable } = await import('./env-table.ts');
const { openApiDocument } = await import('./openapi-document.ts');
const { observeFiles } = await import('../observe/files.ts');

await update('docs/settings.md', withEnvTable);
await update('infra/helm/lehr/Chart.yaml', withVersion);
await update('packages/client/src/openapi.ts', async () => clientTypes(await openApiDocument()));
for (const [file, text] of observeFiles()) await update(file, async () => text);

async function withVersion(chart) {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  return chart.replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`);
}

async function update(file, textAfter) {
  const path = join(ROOT, file);
  const before = await readFile(path, 'utf8').catch(() => '');
  const after = await textAfter(before);
  if (after !== before) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, after);
  }
  console.log(after === before ? `${file} was up to date.` : `${file} is up to date again.`);
}
