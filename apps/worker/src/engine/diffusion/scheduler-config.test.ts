import type { LehrError } from '@lehr/shared';
import { describe, expect, it } from 'vitest';
import { parseSchedulerConfig } from './scheduler-config.ts';

describe('parseSchedulerConfig', () => {
  it('The file of Stable Diffusion 1.5 is read, and fields that it does not set stay undefined', () => {
    const config = parseSchedulerConfig(`{
      "_class_name": "PNDMScheduler",
      "_diffusers_version": "0.6.0",
      "beta_end": 0.012,
      "beta_schedule": "scaled_linear",
      "beta_start": 0.00085,
      "num_train_timesteps": 1000,
      "set_alpha_to_one": false,
      "skip_prk_steps": true,
      "steps_offset": 1,
      "trained_betas": null,
      "clip_sample": false
    }`);
    expect(config).toMatchObject({
      betaStart: 0.00085,
      betaEnd: 0.012,
      betaSchedule: 'scaled_linear',
      predictionType: 'epsilon',
      stepsOffset: 1,
      setAlphaToOne: false,
      rescaleBetasZeroSnr: false,
    });
    expect(config.timestepSpacing).toBeUndefined();
  });

  it('The bare -Infinity that Python writes is read', () => {
    const config = parseSchedulerConfig('{"lambda_min_clipped": -Infinity, "steps_offset": 1}');
    expect(config.stepsOffset).toBe(1);
  });

  it.each([
    ['prediction_type', 'sample', 'epsilon'],
    ['timestep_spacing', 'log', 'trailing'],
    ['beta_schedule', 'sigmoid', 'scaled_linear'],
    ['num_train_timesteps', 0, '>=2'],
    ['steps_offset', 7, '<=1'],
    ['trained_betas', [0.1], 'num_train_timesteps'],
    ['final_sigmas_type', 'sigma_min', 'zero'],
    ['use_beta_sigmas', true, 'false'],
    ['_class_name', 'FlowMatchEulerDiscreteScheduler', 'EulerDiscreteScheduler'],
  ])('%s %j is refused with the field, the value and the allowed values', (field, value, allowed) => {
    const error = errorOf(JSON.stringify({ [field]: value }));
    expect(error).toMatchObject({ code: 'model-unavailable', problems: [{ pointer: `/${field}` }] });
    expect(error.message).toContain(allowed);
    expect(error.message).toContain(JSON.stringify(value));
  });

  it('One error names every wrong field', () => {
    const { problems } = errorOf('{"beta_start": -1, "beta_end": "high"}');
    expect(problems.map(({ pointer }) => pointer)).toEqual(['/beta_start', '/beta_end']);
  });

  it('Text that is not JSON is refused with that reason', () => {
    expect(errorOf('beta_start: 1')).toMatchObject({ code: 'model-unavailable' });
    expect(errorOf('null').code).toBe('model-unavailable');
  });
});

function errorOf(text: string): LehrError {
  try {
    parseSchedulerConfig(text);
  } catch (error) {
    return error as LehrError;
  }
  throw new Error('The config was accepted.');
}
