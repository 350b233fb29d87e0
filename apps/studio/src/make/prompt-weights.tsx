/**
 * Behind the prompt: a copy of it, on which the words that count more or less have a colour, and adapters another one. The field lies on it and has the letters, and is
 * as high as the copy.
 */
import { markWeightedPrompt, type PromptMark, type PromptSyntax } from '@lehr/shared/prompts';
import { model } from './form.ts';

const BREAK = 'BREAK';
/** Such a tag is a mark of its own. */
const ADAPTER_TAG = /^<lora:([^<>:]+)/i;
/** A weight that has all of its colour, and so has what is divided by it. */
const STRONGEST = 1.6;
/** Longer prompts have no colours: each mark is an element, and a hundred thousand of them stop the page. */
const MOST_COLOURED = 50_000;

interface PromptWeightsProps {
  readonly prompt: string;
  readonly syntax: PromptSyntax;
}

export function PromptWeights({ prompt, syntax }: PromptWeightsProps) {
  const isPlain = syntax === 'plain' || prompt.length > MOST_COLOURED;
  const marks = isPlain ? [] : markWeightedPrompt(prompt);
  const known = model.value?.adapters.map(({ name }) => name) ?? [];
  return (
    <span class="prompt-weights" aria-hidden="true">
      {isPlain && prompt}
      {marks.map((mark, nth) => (
        // Not by its place in the text: a letter before thousands of marks would move all, and each would be made anew.
        <Mark key={nth} mark={mark} text={prompt.slice(mark.from, mark.to)} known={known} />
      ))}
      {/* An empty last line has a height only with something in it. */}
      {'\u200b'}
    </span>
  );
}

interface MarkProps {
  readonly mark: PromptMark;
  readonly text: string;
  /** The adapters of the model. */
  readonly known: readonly string[];
}

function Mark({ mark, text, known }: MarkProps) {
  const { weight = 1, isBreak } = mark;
  const [, adapter] = ADAPTER_TAG.exec(text) ?? [];
  if (adapter !== undefined) {
    return (
      <span class="prompt-adapter" data-known={known.includes(adapter.trim())}>
        {text}
      </span>
    );
  }
  if (isBreak) {
    // The blanks around the word belong to it, and have no frame.
    const [before, after] = text.split(BREAK);
    return (
      <>
        {before}
        <span class="weight-break">{BREAK}</span>
        {after}
      </>
    );
  }
  if (weight === 1) return text;
  return (
    <span class={weight > 1 ? 'weight-more' : 'weight-less'} style={{ '--share': shareOf(weight) }}>
      {text}
    </span>
  );
}

/** From 0 to 1. */
const shareOf = (weight: number): number =>
  weight <= 0 ? 1 : Math.min(1, Math.abs(Math.log(weight)) / Math.log(STRONGEST));
