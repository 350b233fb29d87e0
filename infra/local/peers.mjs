/** npm run peers [-- pictures queue --only u16 --again]: Lehr beside Ray Serve, BentoML, LitServe, FastAPI, Celery and BullMQ; writes docs/peers.md. */
import { runComparisons } from './comparisons.mjs';

runComparisons({ program: 'test/peers/run.ts', page: 'docs/peers.md' });
