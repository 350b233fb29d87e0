/** Loads the UNet of a model, with its adapters. */
import { type Adapt, withoutAdapters } from '../../models/adapters/model-adapters.ts';
import type {
  Batching,
  GraphSource,
  InferenceRuntime,
  LoadOptions,
  RuntimeSession,
} from '../../runtime/runtime.ts';
import { Unet, type UnetConfig } from '../unet.ts';
import { loadRows, type RowsPlan } from './load-rows.ts';

export interface LoadedUnet {
  readonly unet: Unet;
  readonly session: RuntimeSession;
}

/** As `loadRows`; with adapters, each row has its own scales of them. */
export async function loadUnet(
  path: string,
  plan: RowsPlan & UnetConfig,
  runtime: InferenceRuntime,
  options: LoadOptions,
  adapt: Adapt = withoutAdapters,
): Promise<LoadedUnet> {
  let adapters: readonly string[] = [];
  const finish = (source: GraphSource): GraphSource => {
    const adapted = adapt(source);
    adapters = adapted.columns;
    return adapted.source;
  };
  const make = (session: RuntimeSession, batching: Batching) =>
    new Unet(session, batching, { ...plan, adapters });
  const { model, session } = await loadRows(path, make, { ...plan, finish }, runtime, options);
  return { unet: model, session };
}
