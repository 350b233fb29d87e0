/** The models that draw, as the API lists them. */
import type { Model } from '@lehr/client';
import { computed, signal } from '@preact/signals';
import { lehr } from '../wire/lehr.ts';

export type PictureModel = Extract<Model, { task: 'text-to-image' }>;

export const models = signal<readonly PictureModel[] | undefined>(undefined);
let loading: Promise<void> | undefined;

/** Loads once; a failure is tried again by the next call. */
export function loadModels(): Promise<void> {
  loading ??= load().catch((error) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

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

async function load(): Promise<void> {
  const all = await lehr.models();
  models.value = all.filter((model): model is PictureModel => model.task === 'text-to-image');
}
