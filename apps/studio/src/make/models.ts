/** The models that draw and those that make pictures larger, as the API lists them. */
import type { Image, Model } from '@lehr/client';
import { computed, signal } from '@preact/signals';
import { lehr } from '../wire/lehr.ts';

export type PictureModel = Extract<Model, { task: 'text-to-image' }>;
export type Adapter = PictureModel['adapters'][number];
type TransformModel = Extract<Model, { task: 'picture-transform' }>;

const offered = signal<readonly Model[] | undefined>(undefined);
let loading: Promise<void> | undefined;

/** Loads once; a failure is tried again by the next call. */
export function loadModels(): Promise<void> {
  loading ??= load().catch((error) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load(): Promise<void> {
  offered.value = await lehr.models();
}

export const models = computed(() =>
  offered.value?.filter((model): model is PictureModel => model.task === 'text-to-image'),
);

/** What a model needs beside a prompt: a picture, or a picture of which a part changes. */
type Need = 'picture' | 'part';
const NEEDS: Partial<Record<PictureModel['family'], Need>> = {
  'sdxl-refiner': 'picture',
  'sd-inpaint': 'part',
  'sdxl-inpaint': 'part',
};
export const needOf = ({ family }: PictureModel): Need | undefined => NEEDS[family];

/** Those that draw from a prompt alone. */
export const drawing = computed(() => models.value?.filter((model) => needOf(model) === undefined));

/** The default one, or the first. */
const upscaler = computed(() => {
  const all = (offered.value ?? []).filter(
    (model): model is TransformModel =>
      model.task === 'picture-transform' && model.result === 'picture' && model.scale > 1,
  );
  return all.find((model) => model.default) ?? all[0];
});

/** The model that makes this picture larger; undefined when none is offered or the picture is too large for it. */
export function upscalerOf({ width, height }: Pick<Image, 'width' | 'height'>): TransformModel | undefined {
  const model = upscaler.value;
  return model && width * height <= model.limits.max_pixels ? model : undefined;
}
