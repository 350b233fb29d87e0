/**
 * Finds the inputs of a UNet by what they are for. Optimum and diffusers' own scripts give them the names of diffusers; torch's
 * dynamo exporter puts the name of a dictionary in front; other scripts choose other names.
 */
import { LehrError } from '@lehr/shared';

/** What a UNet may take for each row beside latent, timestep and prompt; the names of diffusers. */
const CONDITION_NAMES = ['text_embeds', 'time_ids', 'timestep_cond'] as const;
export type ConditionName = (typeof CONDITION_NAMES)[number];

/** What every UNet takes; the names of diffusers. */
const REQUIRED = ['sample', 'timestep', 'encoder_hidden_states'] as const;

/** An input of a graph; `rank` is undefined when the graph does not say. */
export interface GraphInput {
  readonly name: string;
  readonly rank: number | undefined;
}

export interface UnetInputNames {
  readonly sample: string;
  readonly timestep: string;
  readonly text: string;
  /** The graph's own name of each condition that it takes. */
  readonly conditions: ReadonlyMap<ConditionName, string>;
}

/** Throws LehrError `model-unavailable` when an input is missing, or is one that Lehr has no value for. */
export function unetInputNames(inputs: readonly GraphInput[]): UnetInputNames {
  const sample = required(inputs, 'sample', 'the latent, of rank 4', (rank) => rank === 4);
  const timestep = required(inputs, 'timestep', 'of rank 0 or 1', (rank) => rank === 0 || rank === 1);
  const text = required(inputs, 'encoder_hidden_states', 'of rank 3', (rank) => rank === 3);
  const conditions = new Map(
    CONDITION_NAMES.flatMap((name): [ConditionName, string][] => {
      const own = named(inputs, name);
      return own ? [[name, own.name]] : [];
    }),
  );
  const used = new Set([sample, timestep, text, ...conditions.values()]);
  const extra = inputs.find(({ name }) => !used.has(name));
  if (extra) {
    const known = [...REQUIRED, ...CONDITION_NAMES].join(', ');
    throw unusable(
      `The unet graph wants an input "${extra.name}" that Lehr does not know. Export it with these inputs alone: ${known}.`,
    );
  }
  return { sample, timestep, text, conditions };
}

/** By its name, or else as the only input of its rank. */
function required(
  inputs: readonly GraphInput[],
  name: string,
  wanted: string,
  isRank: (rank: number) => boolean,
): string {
  const found = named(inputs, name);
  if (found) return found.name;
  const alike = inputs.filter(({ rank }) => rank !== undefined && isRank(rank));
  if (alike.length === 1) return alike[0].name;
  const names = inputs.map((input) => input.name).join(', ');
  throw unusable(
    `The unet graph has no input "${name}" (${wanted}; it has ${names}). Exporters leave out an argument that is a number and ` +
      `not a tensor, or that is not used: export with a tensor for each of ${REQUIRED.join(', ')}.`,
  );
}

const named = (inputs: readonly GraphInput[], name: string): GraphInput | undefined =>
  inputs.find((input) => input.name === name) ??
  inputs.find((input) => input.name.endsWith(`.${name}`) || input.name.endsWith(`_${name}`));

const unusable = (problem: string) => new LehrError('model-unavailable', problem);
