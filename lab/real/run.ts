/** The program of `npm run lab -- real`: runs the chosen sections and writes lab/real-models.md. */
import { readRealResults, realPage } from './page.ts';
import { runProgram } from './run-program.ts';
import { SECTIONS } from './section.ts';

await runProgram({
  folder: new URL('./', import.meta.url),
  sections: SECTIONS,
  cache: process.env.REAL_CACHE,
  cacheName: 'lehr-real',
  page: 'lab/real-models.md',
  pageText: () => realPage(readRealResults()),
});
