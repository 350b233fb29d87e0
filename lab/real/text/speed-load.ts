/** Text models in Lehr beside other programs with the same graph: texts per second of many callers, and waiting times under load. */
import { percentile } from '../../bench/harness.ts';
import { interleaved, ratioRow } from '../peers/interleaved.ts';
import type { Bench, Row } from '../section.ts';
import { CALLERS, type Side } from './speed-sides.ts';
import { demoSides, MASKED, minilmModel, minilmSides, textsOf, underLoad, withSides } from './speed-texts.ts';

const ROUNDS = 5;
const TEXTS_OF_CROWD = 512;
const LEAST_RATIO = 1.3;
const TEXTS_OF_A_CALL = 32;
const LOAD = 0.7;
const POISSON_TEXTS = 600;
const POISSON_ROUNDS = 3;
const MOST_P99 = 0.5;

type Length = (index: number) => number;
/** Every length from 4 to 128, or to 256, in an order that mixes them. */
const to128: Length = (index) => 4 + ((index * 37) % 125);
const to256: Length = (index) => 4 + ((index * 97) % 253);

interface Crowd {
  readonly what: string;
  readonly tokens: Length;
  readonly texts?: number | undefined;
  readonly first?: readonly string[];
  readonly callers?: number;
  readonly perCall?: number;
}

/** Texts per second, round by round. */
const rates = (sides: readonly Side[], { tokens, first, callers, perCall, texts = TEXTS_OF_CROWD }: Crowd) =>
  interleaved(sides, ROUNDS, async (side) => {
    const asked = textsOf(texts, tokens, first);
    return asked.length / (await side.crowd(asked, { callers, perCall }));
  });

async function crowdRows(sides: readonly Side[], crowd: Crowd): Promise<Row[]> {
  const [ours, ...others] = await rates(sides, crowd);
  return others
    .map(({ side, values }) =>
      ratioRow(`${crowd.what}, ${side.name}`, ours.values, values, { unit: 'texts/s', atLeast: LEAST_RATIO }),
    )
    .map(underLoad);
}

const callers = (count: number): string => (count === 1 ? '1 caller' : `${count} callers`);

/** Each is a comparison of its own, so that a run that was stopped goes on with the next one. */
const minilmCrowds = (open: (sides: Opens) => Opens, crowds: readonly Crowd[]) => async (bench: Bench) =>
  withSides(open(minilmSides(bench, await minilmModel(bench))), async (sides) => {
    const rows: Row[] = [];
    for (const crowd of crowds) rows.push(...(await crowdRows(sides, crowd)));
    return rows;
  });
type Opens = ReturnType<typeof minilmSides>;
const all = (opens: Opens): Opens => opens;
/** The pipeline server takes one text a call. */
const withoutPipelineServer = ([lehr, , ...inProcess]: Opens): Opens => [lehr, ...inProcess];

const minilmLength = (name: string, tokens: Length, texts?: number) =>
  minilmCrowds(all, [{ what: `MiniLM, ${callers(CALLERS)}, ${name} tokens`, tokens, texts }]);
const textsACall = (name: string, tokens: Length, texts: number) =>
  minilmCrowds(withoutPipelineServer, [
    {
      what: `MiniLM, ${callers(4)} with ${TEXTS_OF_A_CALL} texts a call, ${name} tokens`,
      tokens,
      callers: 4,
      perCall: TEXTS_OF_A_CALL,
      texts,
    },
  ]);

export const shortTexts = minilmCrowds(
  all,
  [1, 8, CALLERS].map((count) => ({
    what: `MiniLM, ${callers(count)}, 16 tokens`,
    tokens: () => 16,
    callers: count,
    ...(count === 1 && { texts: 128 }),
  })),
);
export const mixedTexts = minilmLength('4 to 128', to128);
export const longTexts = minilmLength('4 to 256', to256, 256);
export const shortTextsACall = textsACall('16', () => 16, 2 * TEXTS_OF_CROWD);
export const mixedTextsACall = textsACall('4 to 128', to128, TEXTS_OF_CROWD);

export const demoTexts = (bench: Bench): Promise<Row[]> =>
  withSides(demoSides(bench), (sides) =>
    crowdRows(sides, {
      what: `demo-text fills a mask, ${callers(CALLERS)}, 16 tokens`,
      tokens: () => 16,
      first: MASKED,
    }),
  );

/** Arrivals of a Poisson process, at 0.7 of what the slower one of the two servers can do: the same rate for both, drawn anew. */
export async function poissonLoad(bench: Bench): Promise<Row[]> {
  const model = await minilmModel(bench);
  const opens = minilmSides(bench, model).slice(0, 2);
  return withSides(opens, async (sides) => {
    const saturation = (await rates(sides, { what: '', tokens: to128 })).map(({ values }) =>
      percentile(values, 50),
    );
    const perSecond = LOAD * Math.min(...saturation);
    bench.say(`${perSecond.toFixed(0)} texts per second`);
    const shares: { readonly p50: number; readonly p99: number }[][] = sides.map(() => []);
    for (let round = 0; round < POISSON_ROUNDS; round++)
      for (const [index, side] of sides.entries()) {
        const taken = await side.arriving(textsOf(POISSON_TEXTS, to128), perSecond);
        shares[index].push({ p50: percentile(taken, 50), p99: percentile(taken, 99) });
      }
    const [ours, others] = shares;
    const row = (quantile: 'p50' | 'p99'): Row =>
      ratioRow(
        `MiniLM, 4 to 128 tokens, ${perSecond.toFixed(0)} calls per second: ${quantile}, pipeline server`,
        ours.map((each) => each[quantile]),
        others.map((each) => each[quantile]),
        { unit: 'ms', ...(quantile === 'p99' && { atMost: MOST_P99 }) },
      );
    return [row('p50'), row('p99')].map(underLoad);
  });
}
