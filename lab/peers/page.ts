/** lab/peers.md, made from the results in lab/peers/results. */
import { pageOf, readResultsIn } from '../real/page.ts';
import type { SectionResults } from '../real/section.ts';

/** In the order of the page. */
export const SECTIONS = ['pictures', 'queue'] as const;

const HEAD = `# Lehr beside other servers and queues

<!-- made by npm run lab -- peers from lab/peers/results; do not edit -->

What people would otherwise pick, on the same machine and with the same work: Ray Serve, BentoML, LitServe and a micro-batcher in FastAPI for
pictures, Celery and plain BullMQ for the queue. Rounds alternate in one run, and a figure is Lehr's median divided by that of the other
program, in all tables; min .. max are the ratios of the rounds. Rows without a target are for information. A figure of one machine without a card says nothing about
another machine: only the ratios are meant, and only for this kind of machine.

\`npm run lab -- peers\` runs everything; \`npm run lab -- peers pictures\` one section, \`--only u16\` the comparisons with this in their name, and
\`--again\` repeats what is done. Python's virtual environments and the model U16 are kept in \`~/.cache/lehr-peers\` (or in \`$PEERS_CACHE\`),
about 1.5 GB. The classic load test of \`POST /t2i\` is at the [end](#the-classic-load-test).

**Not measured: vLLM-Omni and SGLang Diffusion.** Both batch pictures too, vLLM-Omni step by step since April 2026 (\`--step-execution\`). They run
on cards only, with models that their own engines implement, which Stable Diffusion as ONNX is not, and no card was at hand. Their published
figures are of other models and cards, so no ratio can be made of them.
`;

const CLASSIC = `## The classic load test

The same load as a file for locust and as a script for autocannon, for any server that answers \`POST /t2i\`, such as a running \`npm start\`:

\`\`\`sh classic
LEHR_API_KEY=$(cat .lehr/api-key) LEHR_PICTURE_SIZE=256 \\
  locust --locustfile lab/peers/t2i.locust.py --headless --users 8 --spawn-rate 0.02 --run-time 10m --host http://127.0.0.1:8080
LEHR_API_KEY=$(cat .lehr/api-key) node lab/peers/t2i.autocannon.mjs --url http://127.0.0.1:8080 --users 8 --seconds 60 --size 256
\`\`\`

\`--users 1\` is the scenario of one user; \`--users 8 --spawn-rate 0.02\` that of eight users who arrive at 0.02 per second. Eight users who start at once
(\`--spawn-rate 8\`) are the same load in less time. [Real models](real-models.md) has what locust measured.
`;

export const readPeerResults = (): SectionResults[] =>
  readResultsIn(new URL('./results/', import.meta.url), SECTIONS);

export const peersPage = (results: readonly SectionResults[]): string =>
  `${pageOf(HEAD, results)}\n${CLASSIC}`;
