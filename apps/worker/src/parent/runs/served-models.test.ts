import { parseRegistry } from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord } from '@lehr/shared/records';
import { expect, test } from 'vitest';
import type { OpenedModel } from '../../engine/protocol/messages.ts';
import { newRun, type RunParts } from './new-run.ts';
import { ModelEntries, ServedModels } from './served-models.ts';

test('A job of texts counts as at most an eighth of its lane, and a picture of many tiles as a quarter, so that the jobs of others are claimed beside it', () => {
  const registry = parseRegistry(
    'models: [{ name: minilm, task: text, tasks: [text-embedding], versions: [{ version: "1", path: minilm }] }]',
  );
  const models = new ServedModels(() => [], new ModelEntries(registry, () => []), ['text', 'diffusion']);
  expect(models.mostRows('text.minilm@1', 8192)).toBe(1024);
  expect(models.mostRows('transform.sharp@1', 32)).toBe(8);
  expect(models.mostRows('diffusion.tiny@1.64x64', 8)).toBe(Number.POSITIVE_INFINITY);
});

const CHECKED = `models:
  - { name: draws, task: diffusion, safety: { model: judge }, versions: [{ version: "1", path: draws }] }
  - { name: judge, task: transform, result: class, versions: [{ version: "1", path: judge }] }
`;

test('A model is served only with the model that checks its pictures, which is served to no one else, and else says what it lacks', () => {
  const lane = 'diffusion.draws@1.512x512';
  const servedBy = (...refs: string[]): ServedModels => {
    const open = refs.map((ref) => ({ ref }) as OpenedModel);
    return new ServedModels(() => open, new ModelEntries(parseRegistry(CHECKED), () => open), ['diffusion']);
  };
  const both = servedBy('draws@1', 'judge@1');
  expect([both.serves(lane), both.serves('transform.judge@1')]).toEqual([true, false]);
  expect(both.offered.map(({ ref }) => ref)).toEqual(['draws@1']);
  const alone = servedBy('draws@1');
  expect([alone.serves(lane), alone.offered]).toEqual([false, []]);
  const failure = { code: 'model-unavailable', message: 'there is no model.onnx' } as const;
  expect(alone.lacking([{ ref: 'judge@1', failure }])).toEqual([
    {
      ref: 'draws@1',
      failure: { ...failure, message: 'needs judge@1, which cannot be opened: there is no model.onnx' },
    },
  ]);
  expect(both.lacking([])).toEqual([]);
});

const LISTED = `models:
  - name: listener
    task: whisper
    versions: [{ version: "1", path: listener }]
    limits: { max_audio_s: 90 }
  - name: turbo
    task: diffusion
    family: lcm
    versions: [{ version: "1", path: turbo }]
    defaults: { width: 64, height: 64, steps: 2, guidance: 5, sampler: ddim }
`;
const STAYS = `models:
  - name: other
    task: diffusion
    versions: [{ version: "1", path: other }]
    defaults: { width: 64, height: 64, steps: 2, guidance: 5, sampler: ddim }
`;
const LISTENER = { ref: 'listener@1', whisper: {} } as OpenedModel;
const TURBO = { ref: 'turbo@1' } as OpenedModel;
const LISTENER_LANE = 'whisper.listener@1';
const TURBO_LANE = 'diffusion.turbo@1.64x64';

/** The entries after models.yaml has lost the models of LISTED, and with them what jobs are assumed to need. */
function left(open: readonly OpenedModel[]): { entries: ModelEntries; served: ServedModels } {
  const registry = parseRegistry(LISTED);
  const entries = new ModelEntries(registry, () => open);
  registry.replaceBy(parseRegistry(STAYS));
  entries.readRegistry();
  return { entries, served: new ServedModels(() => open, entries, ['diffusion', 'whisper']) };
}

test('A model that leaves models.yaml keeps its limits and defaults while it is open', () => {
  const { served } = left([LISTENER, TURBO]);
  expect(served.maxAudioS(LISTENER_LANE)).toBe(90);
  expect(served.usualRows(LISTENER_LANE)).toBe(1);
  expect(served.usualRows(TURBO_LANE)).toBe(1);
});

test('The entry of a model that is neither in models.yaml nor open is dropped', () => {
  const { entries } = left([TURBO]);
  expect([entries.find('listener@1'), entries.find('other@1')?.name]).toEqual([undefined, 'other']);
});

test('A picture job that was claimed before its model left models.yaml takes the rows that the model needs', () => {
  const { entries } = left([TURBO]);
  const input = {
    prompt: 'a kite',
    width: 64,
    height: 64,
    steps: 2,
    guidance: 5,
    sampler: 'ddim',
    seed: 1,
    n: 3,
    negative_prompt: '',
    output_format: 'png',
    embed_prompt: false,
  };
  const record = { id: 'job_1', type: 'text-to-image', model: 'turbo@1', queue: TURBO_LANE, input };
  const claim = { jobId: 'job_1', queue: TURBO_LANE, token: 'lease' } as Claim;
  const parts = { entries, models: [TURBO] } as unknown as RunParts;
  expect(newRun(claim, record as unknown as JobRecord, 0, parts).firstRows).toBe(3);
});

test('A speech job whose model has no limits here is handed to another worker', () => {
  const { entries } = left([]);
  const input = {
    audio: { kind: 'url', url: 'https://example.org/memo.wav' },
    language: null,
    task: 'transcribe',
    prompt: '',
    temperature: 0,
    timestamps: 'segment',
    mode: 'sequential',
  };
  const record = { id: 'job_1', type: 'speech-to-text', model: 'listener@1', queue: LISTENER_LANE, input };
  const claim = { jobId: 'job_1', queue: LISTENER_LANE, token: 'lease' } as Claim;
  const parts = { entries, models: [LISTENER] } as unknown as RunParts;
  expect(() => newRun(claim, record as unknown as JobRecord, 0, parts)).toThrow(
    'does not have listener@1 open',
  );
});
