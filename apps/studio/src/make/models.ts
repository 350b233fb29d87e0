/** The models that draw, as the API lists them. */
import type { Model } from '@lehr/client';
import { signal } from '@preact/signals';
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

/** They draw nothing from a prompt alone. */
const NEEDS_PICTURE: readonly string[] = ['sdxl-refiner', 'sd-inpaint', 'sdxl-inpaint'];

async function load(): Promise<void> {
  const all = await lehr.models();
  models.value = all.filter(
    (model): model is PictureModel => model.task === 'text-to-image' && !NEEDS_PICTURE.includes(model.family),
  );
}
