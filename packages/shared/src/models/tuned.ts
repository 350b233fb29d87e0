/**
 * `tuned` of a version in models.yaml: how a worker runs it, by the device that the worker would use first, because the machines of a
 * fleet may differ. `lehr tune` writes it.
 */
import { z } from 'zod';

/** The execution providers that LEHR_DEVICE can name. */
export const TUNED_DEVICES = ['cuda', 'tensorrt', 'webgpu', 'cpu'] as const;

/** How far ONNX Runtime rewrites a graph when it loads it; `all` is its default. */
export const OPTIMIZATIONS = ['disabled', 'basic', 'extended', 'all'] as const;
export type Optimization = (typeof OPTIMIZATIONS)[number];

const TunedSettingsSchema = z.strictObject({
  /** Another device than the first, because it was better. */
  device: z.enum(TUNED_DEVICES).optional(),
  /** Threads of a run on the CPU; never more than the machine has cores. */
  threads: z.int().positive().max(1024).optional(),
  /** The most rows of one step. */
  row_cap: z.int().positive().max(256).optional(),
  optimization: z.enum(OPTIMIZATIONS).optional(),
  /** Of speech and text models, in place of the model's: the suffix of the graph files, such as `_quantized`. */
  variant: z
    .string()
    .regex(/^(?:_[a-z0-9_]{1,32})?$/, 'must be the ending of a file name, such as _quantized')
    .optional(),
});

export const TunedSchema = z.partialRecord(z.enum(TUNED_DEVICES), TunedSettingsSchema);

export type TunedSettings = z.output<typeof TunedSettingsSchema>;
export type Tuned = z.output<typeof TunedSchema>;
