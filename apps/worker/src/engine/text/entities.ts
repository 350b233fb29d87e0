/**
 * The entities of a text, from a label for each token. Labels may begin with `B-` or `I-`: an entity goes on while the next token has
 * the same group and does not begin one. The aggregations give what those of transformers give.
 *
 *   none                   every token alone
 *   simple                 neighbouring tokens of one group
 *   first, average, max    first one label for all tokens of a word, then neighbouring words of one group
 */
import type { EntityOptions, TextEntity } from '../protocol/messages.ts';
import { best, labelOf, softmax } from '../values/scores.ts';
import type { RowOutput } from './text-graph.ts';
import type { Span } from './token-spans.ts';
import type { EncodedText, TextTokenizer } from './tokenizer.ts';

/** A token, or a word of several, and its scores for each label. */
interface Piece extends Span {
  readonly word: string;
  readonly scores: Float64Array;
}

interface Labelled extends Omit<TextEntity, 'label'> {
  readonly label: string;
}

export function entitiesOf(
  { encoded, text }: { readonly encoded: EncodedText; readonly text: string },
  logits: RowOutput,
  tokenizer: TextTokenizer,
  labels: readonly string[],
  { aggregation, ignoreLabels }: EntityOptions,
): TextEntity[] {
  const pieces = piecesOf(encoded, text, logits, tokenizer);
  const byBest = (piece: Piece): Labelled => withLabel(piece, best(piece.scores, 1)[0], labels);
  const isWanted = ({ label }: TextEntity): boolean => !ignoreLabels.includes(label);
  if (aggregation === 'none') return pieces.map(byBest).filter(isWanted);
  const labelled =
    aggregation === 'simple'
      ? pieces.map(byBest)
      : words(pieces).map((word) => ofWord(word, aggregation, labels, tokenizer));
  return joined(labelled, tokenizer).filter(isWanted);
}

function piecesOf(encoded: EncodedText, text: string, logits: RowOutput, tokenizer: TextTokenizer): Piece[] {
  const characters = [...text];
  return tokenizer.spans(text, encoded).map((span, i) => {
    const id = encoded.ids[encoded.start + i];
    const from = (encoded.start + i) * logits.width;
    const isUnknown = tokenizer.isUnknown(id);
    return {
      ...span,
      continues: span.continues && !isUnknown,
      word: isUnknown ? characters.slice(span.start, span.end).join('') : tokenizer.tokenOf(id),
      scores: softmax(logits.values.subarray(from, from + logits.width)),
    };
  });
}

const withLabel = (
  { word, start, end, scores }: Piece,
  index: number,
  labels: readonly string[],
): Labelled => ({
  label: labelOf(labels, index),
  score: scores[index],
  word,
  start,
  end,
});

function words(pieces: readonly Piece[]): Piece[][] {
  const found: Piece[][] = [];
  for (const piece of pieces) {
    if (piece.continues && found.length > 0) found[found.length - 1].push(piece);
    else found.push([piece]);
  }
  return found;
}

/** One label for all tokens of a word. */
function ofWord(
  word: readonly Piece[],
  by: 'first' | 'average' | 'max',
  labels: readonly string[],
  tokenizer: TextTokenizer,
): Labelled {
  const whole = {
    ...word[0],
    end: word[word.length - 1].end,
    word: tokenizer.join(word.map((piece) => piece.word)),
  };
  if (by === 'first') return withLabel(whole, best(word[0].scores, 1)[0], labels);
  if (by === 'max') {
    const tops = Float64Array.from(word, ({ scores }) => scores[best(scores, 1)[0]]);
    const { scores } = word[best(tops, 1)[0]];
    return withLabel({ ...whole, scores }, best(scores, 1)[0], labels);
  }
  const scores = word[0].scores.map(
    (_, i) => word.reduce((sum, piece) => sum + piece.scores[i], 0) / word.length,
  );
  return withLabel({ ...whole, scores }, best(scores, 1)[0], labels);
}

const MARKED = /^(?<mark>[BI])-(?<group>.+)$/s;

/** A label without a mark continues the entity before it. */
function markOf(label: string): { readonly begins: boolean; readonly group: string } {
  const { mark, group } = MARKED.exec(label)?.groups ?? {};
  return { begins: mark === 'B', group: group ?? label };
}

/** As transformers names a group: by what follows the first hyphen of its label, whatever stands before it. */
const nameOf = (label: string): string => label.slice(label.indexOf('-') + 1);

/** Neighbours of one group become one entity, with the mean of their scores. */
function joined(labelled: readonly Labelled[], tokenizer: TextTokenizer): TextEntity[] {
  const runs: Labelled[][] = [];
  for (const each of labelled) {
    const last = runs.at(-1);
    const { begins, group } = markOf(each.label);
    if (last && !begins && markOf(last[0].label).group === group) last.push(each);
    else runs.push([each]);
  }
  return runs.map((run) => ({
    label: nameOf(run[0].label),
    score: run.reduce((sum, { score }) => sum + score, 0) / run.length,
    word: tokenizer.join(run.map(({ word }) => word)),
    start: run[0].start,
    end: run[run.length - 1].end,
  }));
}
