/** Says that a model did not read the whole prompt of a picture. */
import type { Job, JobOutputs } from '@lehr/client';
import { texts } from '../texts/index.ts';

/** Of a workflow, the nodes that drew say it. */
export function PromptCut({ job }: { readonly job: Job }) {
  const outputs = [job.output, ...(job.nodes ?? []).map((node) => node.output)];
  const lines = new Set(outputs.flatMap(linesOf));
  return (
    <>
      {[...lines].map((line) => (
        <p key={line} class="hint prompt-cut">
          {line}
        </p>
      ))}
    </>
  );
}

function linesOf(output: JobOutputs | null): readonly string[] {
  const { truncated_prompt: prompt, truncated_negative_prompt: negative } = output ?? {};
  return [
    ...(prompt ? [texts.make.promptCut(prompt.read, prompt.tokens)] : []),
    ...(negative ? [texts.make.negativeCut(negative.read, negative.tokens)] : []),
  ];
}
