/** Text models with real weights, in Lehr and in the programs that they came from. */
import type { Section } from '../section.ts';
import { minilm } from './minilm.ts';

export const section: Section = {
  title: 'Texts',
  about: `all-MiniLM-L6-v2 with its real weights, which a Python package carries. Optimum exports it in float32; sentence-transformers computes the
same texts in torch.`,
  environments: [
    { name: 'text/venv', requirements: 'test/real/text/requirements.txt', size: '3 GB, 7 GB on the disk' },
  ],
  comparisons: [{ name: 'minilm', title: 'The same embeddings from the same weights', run: minilm }],
};
