import { type LehrError, leastSteps } from '@lehr/shared';
import { describe, expect, it } from 'vitest';
import { sd15Config } from '../../../../../../test/support/sampler-golden.ts';
import { createSamplerRun, type SamplerRunOptions, samplersFor, stepRange } from './index.ts';
import { SAMPLER_NAMES, type SamplerName } from './sampler.ts';

const sd15 = sd15Config();
const turbo = sd15Config({ timestep_spacing: 'trailing' });
const zeroSnr = { rescale_betas_zero_snr: true, timestep_spacing: 'trailing' };

describe('createSamplerRun', () => {
  it('Each sampler has its own default spacing, used when the config has none', () => {
    const first = (name: SamplerName) => createRun({ name, steps: 20 }).timesteps[0];
    expect([first('ddim'), first('pndm')]).toEqual([951, 951]);
    expect([first('euler'), first('euler_a'), first('dpmpp_2m'), first('unipc')]).toEqual([
      999, 999, 999, 999,
    ]);
    expect(createRun({ name: 'ddim', config: turbo, steps: 20 }).timesteps[0]).toBe(999);
  });

  it('Pndm makes one more model call than steps, and every other sampler one per step', () => {
    for (const name of SAMPLER_NAMES) {
      expect(createRun({ name, steps: 10 }).timesteps).toHaveLength(name === 'pndm' ? 11 : 10);
    }
  });

  it.each([
    { name: 'lcm', steps: 51, allowed: 'from 1 to 50 with lcm' },
    { name: 'ddim', steps: 1, allowed: 'from 2 to 999 with ddim' },
    { name: 'euler', steps: 1, allowed: 'from 2 to 1000 with euler' },
    { name: 'unipc', steps: 1000, allowed: 'from 1 to 999 with unipc' },
    { name: 'pndm', steps: 0, allowed: 'from 2 to 999 with pndm' },
    { name: 'euler_a', steps: 2.5, allowed: 'from 2 to 1000 with euler_a' },
    { name: 'dpmpp_2m_karras', steps: 1001, allowed: 'from 1 to 1000 with dpmpp_2m_karras' },
  ] as const)(
    '$steps steps of $name are refused with the allowed step counts',
    ({ name, steps, allowed }) => {
      const error = errorOf({ name, steps });
      expect(error).toMatchObject({ code: 'invalid-input', problems: [{ pointer: '/input/steps' }] });
      expect(error.message).toContain(allowed);
    },
  );

  it('One step is allowed where it begins at noise', () => {
    for (const name of ['euler', 'euler_a', 'ddim'] as const) {
      expect(createRun({ name, config: turbo, steps: 1 }).timesteps).toEqual([999]);
    }
    expect(createRun({ name: 'lcm', steps: 1 }).timesteps).toEqual([999]);
  });

  it.each([0, -1, 1.5, Number.NaN])('A strength of %d is refused', (strength) => {
    const error = errorOf({ name: 'euler', steps: 10, strength });
    expect(error).toMatchObject({ code: 'invalid-input', problems: [{ pointer: '/input/strength' }] });
  });

  it('A strength that leaves no step is refused, except for lcm, which always makes all steps', () => {
    const error = errorOf({ name: 'euler', steps: 4, strength: 0.2 });
    expect(error.problems).toMatchObject([
      {
        pointer: '/input/strength',
        detail: expect.stringContaining('4 steps times strength must be at least 1'),
      },
    ]);
    expect(errorOf({ name: 'pndm', steps: 4, strength: 0.2 }).code).toBe('invalid-input');
    expect(createRun({ name: 'lcm', steps: 4, strength: 0.2 }).timesteps).toHaveLength(4);
  });

  it('A sampler that cannot run on the schedule is refused with the names of those that can', () => {
    const error = errorOf({ name: 'pndm', config: sd15Config(zeroSnr), steps: 10 });
    expect(error).toMatchObject({ code: 'invalid-input', problems: [{ pointer: '/input/sampler' }] });
    expect(error.message).toContain('euler, euler_a');
  });
});

describe('samplersFor', () => {
  it('All samplers can run on the schedule of Stable Diffusion 1.5', () => {
    expect(samplersFor(sd15)).toEqual(SAMPLER_NAMES);
  });

  it('Only samplers with finite sigmas can run on noise predictions and zero terminal SNR', () => {
    const offered = samplersFor(sd15Config({ ...zeroSnr, prediction_type: 'epsilon' }));
    expect(offered).toEqual(SAMPLER_NAMES.filter((name) => !['ddim', 'lcm', 'pndm'].includes(name)));
  });

  it('All samplers but pndm can run on velocities and zero terminal SNR', () => {
    const offered = samplersFor(sd15Config({ ...zeroSnr, prediction_type: 'v_prediction' }));
    expect(offered).toEqual(SAMPLER_NAMES.filter((name) => name !== 'pndm'));
  });

  it('Pndm cannot run with Runge-Kutta steps, nor lcm on a grid finer than the schedule', () => {
    expect(samplersFor(sd15Config({ skip_prk_steps: false }))).not.toContain('pndm');
    expect(samplersFor(sd15Config({ original_inference_steps: 2000 }))).not.toContain('lcm');
  });
});

describe('stepRange', () => {
  it('The API knows the least steps of every sampler and spacing', () => {
    for (const spacing of [undefined, 'leading', 'linspace', 'trailing']) {
      const config = sd15Config({ timestep_spacing: spacing });
      for (const name of SAMPLER_NAMES)
        expect(stepRange(name, config).min, `${name} ${spacing}`).toBe(
          leastSteps(name, spacing === 'trailing'),
        );
    }
  });

  const configs = [sd15, turbo, sd15Config({ timestep_spacing: 'linspace', steps_offset: 0 })];

  it.each([...SAMPLER_NAMES])('The step range of %s holds exactly the possible step counts', (name) => {
    for (const config of configs) {
      const { min, max } = stepRange(name, config);
      const possible = (steps: number) => canRun({ name, config, steps });
      expect([min - 1, min, max, max + 1].map(possible)).toEqual([false, true, true, false]);
      for (let steps = min; steps <= max; steps += 13) expect(possible(steps)).toBe(true);
    }
  });
});

function createRun(options: Partial<SamplerRunOptions> & Pick<SamplerRunOptions, 'name' | 'steps'>) {
  return createSamplerRun({ config: sd15, latentLength: 4, ...options });
}

function canRun(options: Parameters<typeof createRun>[0]): boolean {
  try {
    createRun(options);
    return true;
  } catch {
    return false;
  }
}

function errorOf(options: Parameters<typeof createRun>[0]): LehrError {
  try {
    createRun(options);
  } catch (error) {
    return error as LehrError;
  }
  throw new Error('The options were accepted.');
}
