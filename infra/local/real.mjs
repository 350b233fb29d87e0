/** npm run real [-- whisper diffusion clients peers --only jfk --again]: compares Lehr with other programs, and writes docs/real-models.md. */
import { runComparisons } from './comparisons.mjs';

runComparisons({ program: 'test/real/run.ts', page: 'docs/real-models.md' });
