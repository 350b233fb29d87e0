import { describe, expect, it } from 'vitest';
import { sd15Config } from '../../../../../../test/support/sampler-golden.ts';
import { decodeCheckpoint, encodeCheckpoint } from '../checkpoint.ts';
import { SeededNoise } from '../noise.ts';
import { createSamplerRun } from './index.ts';
import { SAMPLER_NAMES, type SamplerName, type SamplerRun } from './sampler.ts';

const latentLength = 4 * 5 * 5;
const config = sd15Config();

describe('a sampler run', () => {
  it.each([...SAMPLER_NAMES])(
    'A run of %s, stopped after any call, stored as bytes and restored in a new run, continues with the same bits',
    (name) => {
      const whole = newSample(name);
      finish(whole);
      const interrupted = newSample(name);
      while (interrupted.run.call < interrupted.run.timesteps.length) {
        const { run, noise, latent } = interrupted;
        const state = { sampler: run.state(), noise: noise.state(), latent };
        const checkpoint = decodeCheckpoint(encodeCheckpoint('a sample', state), 'a sample');
        const resumed = newSample(name, 99);
        resumed.run.restore(checkpoint.sampler);
        resumed.noise.restore(checkpoint.noise);
        resumed.latent.set(checkpoint.latent);
        expect(resumed.run.call).toBe(run.call);
        finish(resumed);
        expect(resumed.latent).toEqual(whole.latent);
        call(interrupted);
      }
      expect(interrupted.latent).toEqual(whole.latent);
    },
  );

  it.each([...SAMPLER_NAMES])('Two runs of %s with the same options share nothing', (name) => {
    const alone = newSample(name);
    finish(alone);
    const sample = newSample(name);
    const other = newSample(name, 7);
    while (sample.run.call < sample.run.timesteps.length) {
      call(other);
      call(sample);
    }
    expect(sample.latent).toEqual(alone.latent);
  });

  it('Later steps do not change a state that was returned before', () => {
    const sample = newSample('unipc');
    call(sample);
    const state = sample.run.state();
    const before = structuredClone(state);
    call(sample);
    expect(state).toEqual(before);
  });

  it.each([
    { problem: 'more calls than the run has', state: { call: 9, history: [new Float32Array(latentLength)] } },
    { problem: 'half a call', state: { call: 0.5, history: [new Float32Array(latentLength)] } },
    { problem: 'too little history', state: { call: 1, history: [] } },
    { problem: "another shape's latents", state: { call: 1, history: [new Float32Array(8)] } },
  ])('The state of another run is refused: $problem', ({ state }) => {
    const { run } = newSample('dpmpp_2m');
    expect(() => run.restore(state)).toThrow(expect.objectContaining({ code: 'internal' }));
    expect(run.call).toBe(0);
  });

  it('A call after the last one is refused, as are arrays of another length', () => {
    const sample = newSample('ddim');
    expect(() => sample.run.step(new Float32Array(3), sample.latent, sample.noise.draw)).toThrow(/not 3/);
    finish(sample);
    expect(() => call(sample)).toThrow(/All 6 calls/);
  });
});

interface Sample {
  readonly run: SamplerRun;
  readonly noise: SeededNoise;
  readonly latent: Float32Array;
}

function newSample(name: SamplerName, seed = 1): Sample {
  const noise = new SeededNoise(seed);
  const run = createSamplerRun({ name, config, steps: 6, latentLength });
  const latent = noise.draw(latentLength).map((value) => value * run.initNoiseSigma);
  return { run, noise, latent };
}

function finish(sample: Sample): void {
  while (sample.run.call < sample.run.timesteps.length) call(sample);
}

/** One call; the fake model output depends on the latent, the timestep and the index. */
function call({ run, noise, latent }: Sample): void {
  const timestep = run.timesteps[run.call];
  const input = new Float32Array(latent.length);
  run.scaleModelInput(latent, input);
  const output = input.map((value, i) => 0.3 * value + Math.sin(0.01 * timestep + i));
  run.step(output, latent, noise.draw);
}
