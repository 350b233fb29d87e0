/** Graphs with the operators that only CUDA has serve when they agree with the graph as it was given. A card is played by the reference of its operators. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openForCuda } from '../../apps/worker/src/engine/runtime/cuda-session.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { GraphSource, RuntimeSession } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { floatTensor, floatValues, type Tensor } from '../../apps/worker/src/engine/runtime/tensor.ts';
import { decode } from '../../packages/onnx-model/src/index.ts';
import { LehrError } from '../../packages/shared/src/index.ts';
import { shared } from '../support/cleanup.ts';
import { unpackFixture } from '../support/diffusion-fixtures.ts';
import { evaluateGraph } from '../support/evaluate-graph.ts';
import { tempFolder } from '../support/tiny-models.ts';

const CPU = { providers: ['cpu'], threads: 1, fuses: false } as const;
const OPERATORS = { GroupNorm: 19, SkipGroupNorm: 10, NhwcConv: 35 };
const LATENT = floatTensor(
  'float32',
  Float32Array.from({ length: 64 }, (_, i) => Math.sin(i)),
  [1, 4, 4, 4],
);

const decoder = shared(async () => {
  const folder = await tempFolder('cuda-session');
  unpackFixture('sd15', folder);
  const path = join(folder, 'vae_decoder/model.onnx');
  const session = await openOnCpu({ path });
  const wanted = valuesOf(await session.run({ latent_sample: LATENT }));
  await session.close();
  return { path, wanted };
});

const openOnCpu = (source: GraphSource): Promise<RuntimeSession> => onnxRuntime.load(source, CPU);
const valuesOf = (outputs: Record<string, Tensor>): Float32Array => floatValues(Object.values(outputs)[0]);

/** Opens on a card that makes `change` of each value of a graph with its operators. `open` counts what is open. */
function card(change: (value: number) => number) {
  const open = { given: 0, rewritten: 0 };
  const openOnCard = async (source: GraphSource): Promise<RuntimeSession> => {
    const form = source.bytes ? 'rewritten' : 'given';
    const session = await openOnCpu({ path: source.path });
    open[form] += 1;
    return {
      ...session,
      provider: 'cuda',
      placement: undefined,
      inputs: session.inputs,
      outputs: session.outputs,
      async run(feeds) {
        const outputs = await session.run(feeds);
        if (!source.bytes) return outputs;
        const [name] = Object.keys(outputs);
        const made = (await evaluateGraph(source.bytes, source.path, feeds)).get(name);
        if (!made) throw new Error(`nothing made ${name}`);
        return { [name]: floatTensor('float32', floatValues(made).map(change), made.dims) };
      },
      async close() {
        open[form] -= 1;
        await session.close();
      },
    };
  };
  return { open, openOnCard };
}

test('A graph whose first run agrees with the graph as it was given keeps the operators of CUDA, and the other is closed', async () => {
  const { open, openOnCard } = card((value) => value);
  const session = await openForCuda({ path: decoder.path }, openOnCard);
  const values = valuesOf(await session.run({ latent_sample: LATENT }));
  expect(session.fusion?.cuda).toEqual({ operators: OPERATORS });
  for (const [i, value] of values.entries()) expect(value).toBeCloseTo(decoder.wanted[i], 4);
  expect(open).toEqual({ given: 0, rewritten: 1 });
  await session.close();
  expect(open).toEqual({ given: 0, rewritten: 0 });
});

test('A card that computes an operator wrongly serves the graph as it was given, from the first run on, and says why', async () => {
  const { open, openOnCard } = card((value) => value * 1.25);
  const session = await openForCuda({ path: decoder.path }, openOnCard);
  expect(valuesOf(await session.run({ latent_sample: LATENT }))).toEqual(decoder.wanted);
  const said = /^with them, it differs by (0\.\d+) of its largest value, at most 0\.02 allowed$/;
  const [, share] = said.exec(session.fusion?.cuda?.problem ?? '') ?? [];
  expect(Number(share)).toBeCloseTo(0.25, 5);
  expect(open).toEqual({ given: 1, rewritten: 0 });
  await session.close();
});

const namesOf = ({ bytes }: GraphSource, operator: string): string[] =>
  (bytes ? decode('ModelProto', bytes).graph?.node : [])
    ?.filter(({ opType }) => opType === operator)
    .map(({ name }) => name ?? '') ?? [];

test('Nodes that a card refuses by name, one as it opens the graph and one as it runs it, are as exported, and all others serve', async () => {
  const { open, openOnCard } = card((value) => value);
  const odd: { norm?: string; sum?: string } = {};
  const messages = () => ({
    norm: `Node (${odd.norm}) Op (GroupNorm) [TypeInferenceError] channels are no multiple of groups`,
    sum: `Non-zero status code returned while running SkipGroupNorm node. Name:'${odd.sum}' Status Message: skip shape is not expected`,
  });
  const session = await openForCuda({ path: decoder.path }, async (source) => {
    const [norms, sums] = [namesOf(source, 'GroupNorm'), namesOf(source, 'SkipGroupNorm')];
    odd.norm ??= norms[2];
    odd.sum ??= sums[3];
    if (norms.includes(odd.norm)) throw new Error(messages().norm);
    const opened = await openOnCard(source);
    const run: RuntimeSession['run'] = async (feeds) => {
      if (sums.includes(odd.sum ?? '')) throw new LehrError('engine-failed', messages().sum);
      return opened.run(feeds);
    };
    return { ...opened, run };
  });
  const values = valuesOf(await session.run({ latent_sample: LATENT }));
  expect(session.fusion?.cuda).toEqual({
    operators: { ...OPERATORS, GroupNorm: 18, SkipGroupNorm: 9 },
    left: { [messages().norm]: 'GroupNorm', [messages().sum]: 'SkipGroupNorm' },
  });
  for (const [i, value] of values.entries()) expect(value).toBeCloseTo(decoder.wanted[i], 4);
  expect(open).toEqual({ given: 0, rewritten: 1 });
  await session.close();
});

test('A provider without kernels for the operators serves the graph as it was given, with what it said', async () => {
  const session = await openForCuda({ path: decoder.path }, openOnCpu);
  expect(valuesOf(await session.run({ latent_sample: LATENT }))).toEqual(decoder.wanted);
  expect(session.fusion?.cuda?.operators).toEqual(OPERATORS);
  expect(session.fusion?.cuda?.problem).toMatch(
    /^the graph does not open with them: .*Could not find an implementation/,
  );
  await session.close();
});

test('A later run that fails with the operators is made again by the graph as it was given', async () => {
  let runs = 0;
  const { open, openOnCard } = card((value) => value);
  const session = await openForCuda({ path: decoder.path }, async (source) => {
    const opened = await openOnCard(source);
    return {
      ...opened,
      run(feeds) {
        if (source.bytes) runs += 1;
        if (source.bytes && runs === 2) throw new LehrError('engine-failed', 'skip shape is not expected');
        return opened.run(feeds);
      },
    };
  });
  await session.run({ latent_sample: LATENT });
  expect(valuesOf(await session.run({ latent_sample: LATENT }))).toEqual(decoder.wanted);
  expect(session.fusion?.cuda?.problem).toBe('the graph does not run with them: skip shape is not expected');
  expect(open).toEqual({ given: 1, rewritten: 0 });
  await session.close();
});

test('On the CPU, a graph is opened without the operators of CUDA', async () => {
  const session = await onnxRuntime.load({ path: decoder.path }, { providers: ['cpu'], threads: 1 });
  expect(session.fusion).toEqual({ attentions: 1, left: {} });
  await session.close();
});

test('A graph with the operators of CUDA that was opened in pieces runs in pieces, from its first run on', async () => {
  const session = await openForCuda({ path: decoder.path }, ({ path }) =>
    onnxRuntime.load({ path }, { ...CPU, largestPiece: 0.3 }),
  );
  for (let run = 0; run < 2; run += 1) {
    let yields = 0;
    const pieces = session.runInPieces?.({ latent_sample: LATENT });
    let next = await pieces?.next();
    for (; next && !next.done; next = await pieces?.next()) yields += 1;
    expect(yields).toBe((session.pieces ?? 1) - 1);
    expect(valuesOf(next?.value ?? {})).toEqual(decoder.wanted);
  }
  expect(session.pieces).toBeGreaterThan(2);
  expect(session.fusion?.cuda).toEqual({ operators: OPERATORS });
  await session.close();
});
