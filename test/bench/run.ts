/** Runs one bench file in a separate process: measures its figures one by one and sends each row to npm run bench. */
import { pathToFileURL } from 'node:url';
import { type Figure, measure } from './harness.ts';

const [file] = process.argv.slice(2);
const { figures } = (await import(pathToFileURL(file).href)) as { figures?: readonly Figure[] };
if (!figures) throw new Error(`${file} exports no figures.`);
for (const figure of figures) {
  const row = await measure(figure);
  await new Promise((resolve) => process.send?.(row, resolve));
}
// A handle that a figure left open must not keep this process running.
process.exit(0);
