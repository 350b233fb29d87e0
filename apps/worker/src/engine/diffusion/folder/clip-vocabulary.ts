/**
 * Builds the `tokenizer.json` that does what CLIP's own code does with a `vocab.json` and a `merges.txt`: Stable
 * Diffusion 1.x folders ship only these two.
 */
import type { SpecialTokens } from '../tokenizer.ts';

const WORD = "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";

/** Throws Error when a special token is not in the vocabulary. */
export function buildTokenizerJson(
  vocabulary: Readonly<Record<string, number>>,
  mergesText: string,
  special: SpecialTokens,
): object {
  const idOf = (token: string): number => {
    const id = vocabulary[token];
    if (id === undefined) throw new Error(`The vocabulary has no "${token}".`);
    return id;
  };
  const addedToken = (content: string) => ({
    ...{ id: idOf(content), content, special: true, normalized: true },
    ...{ single_word: false, lstrip: false, rstrip: false },
  });
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [addedToken(special.bos), addedToken(special.eos)],
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'NFC' },
        { type: 'Replace', pattern: { Regex: '\\s+' }, content: ' ' },
        { type: 'Lowercase' },
      ],
    },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: WORD }, behavior: 'Removed', invert: true },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: special.unk,
      continuing_subword_prefix: '',
      end_of_word_suffix: '</w>',
      fuse_unk: false,
      vocab: vocabulary,
      merges: mergesText.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#version')),
    },
  };
}
