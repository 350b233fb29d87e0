/** npm run real [-- whisper diffusion text clients peers --only jfk --again]: compares Lehr with other programs, and writes docs/real-models.md. */
import { runComparisons } from './comparisons.mjs';

runComparisons({
  name: 'real',
  does: 'Compares Lehr with other programs on real models; needs Python, about 20 GB and hours.',
  folder: 'test/real',
  page: 'docs/real-models.md',
});
