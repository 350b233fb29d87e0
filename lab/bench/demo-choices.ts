/**
 * Scores of the demo model for several guidance scales and samplers, to choose its defaults. The argument is the number of
 * held-out prompts, 60 by default; pictures are drawn through all of Lehr:
 * node --conditions=lehr-source --import=./infra/local/typescript.mjs lab/bench/demo-choices.ts 60
 */
import { SAMPLER_NAMES } from '../../packages/shared/src/index.ts';
import { heldOutPrompts, MEASURES } from '../../test/support/scene-checker.ts';
import { type DrawOptions, startDemoLehr } from './demo-lehr.ts';

const [count = '60'] = process.argv.slice(2);
const prompts = heldOutPrompts.slice(0, Number(count));
const demo = await startDemoLehr();
const { defaults, samplers } = demo;
const choices: DrawOptions[] = [
  ...[2, 3, 4, 5, 7].map((guidance) => ({ guidance })),
  // Jobs with samplers that the registry does not offer would be refused.
  ...SAMPLER_NAMES.filter((name) => samplers.includes(name)).map((sampler) => ({ sampler })),
  { sampler: 'dpmpp_2m', steps: 12 },
];
try {
  console.log(`| choice | ${MEASURES.join(' | ')} |\n| --- | ${MEASURES.map(() => '---').join(' | ')} |`);
  for (const choice of choices) {
    const tally = await demo.check(prompts, choice);
    const { steps, guidance, sampler } = { ...defaults, ...choice };
    const cells = MEASURES.map((measure) => `${tally[measure].right}/${tally[measure].asked}`);
    console.log(`| ${sampler}, ${steps} steps, guidance ${guidance} | ${cells.join(' | ')} |`);
  }
} finally {
  await demo.close();
}
