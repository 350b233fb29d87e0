/** npm run peers [-- pictures queue --only u16 --again]: Lehr beside Ray Serve, BentoML, LitServe, FastAPI, Celery and BullMQ; writes docs/peers.md. */
import { runComparisons } from './comparisons.mjs';

runComparisons({
  name: 'peers',
  does: 'Compares Lehr with Ray Serve, BentoML, LitServe, FastAPI, Celery and BullMQ; needs Python and about 1.5 GB.',
  folder: 'test/peers',
  page: 'docs/peers.md',
});
