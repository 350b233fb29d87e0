/** Text models with real weights, in Lehr and in the programs that they came from. */
import type { Section } from '../section.ts';
import { bertBase } from './bert-base.ts';
import { int8 } from './int8.ts';
import { minilm } from './minilm.ts';
import { oneDemoText, oneText } from './speed.ts';
import {
  demoTexts,
  longTexts,
  mixedTexts,
  mixedTextsACall,
  poissonLoad,
  shortTexts,
  shortTextsACall,
} from './speed-load.ts';
import { CALLERS } from './speed-sides.ts';

export const section: Section = {
  title: 'Texts',
  about: `all-MiniLM-L6-v2 with its real weights, which a Python package carries. Optimum exports it in float32; sentence-transformers computes the
same texts in torch. BERT-base has its full size and seeded random weights; transformers' pipelines compute the same in torch.

For the times, every program runs the same graph in two threads. Lehr is all of Lehr (API, Redis, worker and engine), and its calls are
held until the job has ended. The pipeline server is Starlette with one queue that batches what waits; both are called by HTTP, a text a
call unless a row says more. transformers.js and sentence-transformers have no server: they are called in their own process, in batches
of ${CALLERS} texts where the others have callers. Servers answer 4,000 calls before they are timed.`,
  environments: [
    { name: 'text/venv', requirements: 'lab/real/text/requirements.txt', size: '3 GB, 7 GB on the disk' },
  ],
  comparisons: [
    { name: 'minilm', title: 'The same embeddings from the same weights', run: minilm },
    { name: 'bert-base', title: 'BERT-base at full size, random weights', run: bertBase },
    { name: 'int8', title: 'Text models in int8 beside float32, attentions fused in both', run: int8 },
    { name: 'one-text', title: 'One text after the other: median milliseconds of a text', run: oneText },
    {
      name: 'one-demo-text',
      title: 'One text of demo-text after the other: median milliseconds of a text',
      run: oneDemoText,
    },
    { name: 'many-short', title: '1, 8 and 32 callers, 16 tokens: texts per second', run: shortTexts },
    { name: 'many-mixed', title: '32 callers, to 128 tokens: texts per second', run: mixedTexts },
    { name: 'many-long', title: '32 callers, to 256 tokens: texts per second', run: longTexts },
    {
      name: 'many-texts-short',
      title: '4 callers with 32 texts a call, 16 tokens: texts per second',
      run: shortTextsACall,
    },
    {
      name: 'many-texts-mixed',
      title: '4 callers with 32 texts a call, to 128 tokens: texts per second',
      run: mixedTextsACall,
    },
    { name: 'many-demo', title: '32 callers of demo-text: texts per second', run: demoTexts },
    { name: 'poisson', title: 'Calls at 0.7 of what the slower server can do', run: poissonLoad },
  ],
};
