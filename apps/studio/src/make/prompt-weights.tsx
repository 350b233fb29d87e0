/**
 * Behind the prompt: a copy of it, on which the words that count more or less have a colour. The field lies on it and has the letters, and is
 * as high as the copy.
 */
import { markWeightedPrompt, type PromptMark, type PromptSyntax } from '@lehr/shared/prompts';

/** A weight that has all of its colour, and so has what is divided by it. */
const STRONGEST = 1.6;

interface PromptWeightsProps {
  readonly prompt: string;
  readonly syntax: PromptSyntax;
}

export function PromptWeights({ prompt, syntax }: PromptWeightsProps) {
  const marks = syntax === 'plain' ? [] : markWeightedPrompt(prompt);
  return (
    <span class="prompt-weights" aria-hidden="true">
      {syntax === 'plain' && prompt}
      {marks.map((mark) => (
        <span key={mark.from} class={classOf(mark)} style={{ '--share': shareOf(mark) }}>
          {prompt.slice(mark.from, mark.to)}
        </span>
      ))}
      {/* An empty last line has a height only with something in it. */}
      {'\u200b'}
    </span>
  );
}

function classOf({ weight, isBreak }: PromptMark): string {
  if (isBreak) return 'weight-break';
  if (weight === undefined || weight === 1) return '';
  return weight > 1 ? 'weight-more' : 'weight-less';
}

/** From 0 to 1. */
const shareOf = ({ weight = 1 }: PromptMark): number =>
  weight <= 0 ? 1 : Math.min(1, Math.abs(Math.log(weight)) / Math.log(STRONGEST));
