/** What a diffusion model has beside the folders of its versions: files that people add to it. Requests choose among them. */
import { z } from 'zod';
import { ADAPTER_SCALE, MAX_MODEL_ADAPTERS } from '../contracts/adapters.ts';
import { SLUG } from '../contracts/group.ts';
import { parseSource, parseTypedFile } from './cache/source.ts';

const part = {
  /** Requests name it so. */
  name: z.string().regex(SLUG, 'must match [a-z0-9][a-z0-9._-]{0,63}'),
  /** Absolute, or relative to the folder of models.yaml. */
  path: z.string().min(1).optional(),
  /** In place of a path: from where workers fetch it. */
  source: z.string().min(1).optional(),
  /** Of a source on a hub: a commit, a tag or a branch. */
  revision: z.coerce.string().min(1).optional(),
  /** A sentence for people: what it does. */
  description: z.string().min(1).max(500).optional(),
};

interface Place {
  readonly path?: string | undefined;
  readonly source?: string | undefined;
  readonly revision?: string | undefined;
}

/** Of a version, an adapter or a ControlNet: where it is must be said once. `parse` throws for a source that names none. */
export const placed =
  (parse: (source: string, revision: string | undefined) => void) =>
  ({ path, source, revision }: Place, context: z.RefinementCtx): void => {
    const fault = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (path !== undefined && source !== undefined) fault('source', 'cannot be used together with path');
    if (path === undefined && source === undefined) fault('path', 'is missing; or give a source');
    if (source === undefined) {
      if (revision !== undefined) fault('revision', 'needs a source');
      return;
    }
    try {
      parse(source, revision);
    } catch (error) {
      fault('source', (error as Error).message);
    }
  };

/** A source as `lehr models import` takes it: the address of one file. */
function checkFile(source: string, revision: string | undefined): void {
  if (parseTypedFile(source, revision)) return;
  throw new Error(
    'must be the address of a file: hf://owner/name/file.safetensors, s3://bucket/file.safetensors or https://host/file.safetensors',
  );
}

const AdapterEntrySchema = z
  .strictObject({
    ...part,
    path: z
      .string()
      .regex(/[^/]\.safetensors$/i, 'must be a .safetensors file')
      .optional(),
    /** Words that a prompt needs for it to act; people read them. */
    trigger: z.array(z.string().min(1).max(200)).max(32).default([]),
    /** How strongly it acts when a request does not say. */
    scale: ADAPTER_SCALE.default(1),
  })
  .superRefine(placed(checkFile));

/** A list in which each name is there once. */
const named = <Schema extends z.ZodType<{ readonly name: string }>>(schema: Schema, most: number) =>
  z
    .array(schema)
    .max(most)
    .superRefine((parts, context) => {
      for (const [i, { name }] of parts.entries()) {
        if (parts.findIndex((each) => each.name === name) === i) continue;
        context.addIssue({ code: 'custom', path: [i, 'name'], message: `"${name}" is there twice` });
      }
    })
    .default([]);

export const AdapterEntriesSchema = named(AdapterEntrySchema, MAX_MODEL_ADAPTERS);

/** Each loads a graph of a third of its model's UNet. */
const MAX_MODEL_CONTROLS = 8;

/** A ControlNet: a folder with `model.onnx` and `config.json`. */
const ControlEntrySchema = z
  .strictObject({
    ...part,
    /** What makes its control picture of the picture that is sent: none, canny, or a model that gives a picture or a mask. */
    preprocess: z.string().min(1).max(200).default('none'),
  })
  .superRefine(placed((source, revision) => parseSource({ source, revision })));

export const ControlEntriesSchema = named(ControlEntrySchema, MAX_MODEL_CONTROLS);
