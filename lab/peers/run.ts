/** The program of `npm run lab -- peers`: runs the chosen sections and writes lab/peers.md. */
import { runProgram } from '../real/run-program.ts';
import { peersPage, readPeerResults, SECTIONS } from './page.ts';

await runProgram({
  folder: new URL('./', import.meta.url),
  sections: SECTIONS,
  cache: process.env.PEERS_CACHE,
  cacheName: 'lehr-peers',
  page: 'lab/peers.md',
  pageText: () => peersPage(readPeerResults()),
});
