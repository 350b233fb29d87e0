/** The answer of txt2img and img2img: pictures with their text, and `info`, which is JSON in a text. */
import { TextToImageInputSchema, withPngText } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { SucceededRecord } from '../../jobs/requests/hold.ts';
import { readImage } from '../read-image.ts';
import { infotextOf, PARAMETERS, promptOf, timestampOf } from './infotext.ts';
import type { Edit } from './picture-contract.ts';
import { webUiNames } from './samplers.ts';

interface Pictures {
  readonly images: string[];
  readonly parameters: Record<string, unknown>;
  readonly info: string;
}

export async function picturesOf(store: ObjectStore, record: SucceededRecord, body: Edit): Promise<Pictures> {
  const input = TextToImageInputSchema.parse(record.input);
  const { images } = record.output;
  const infotexts = images.map(({ seed }) => infotextOf(input, seed, record.model));
  const sent =
    body.send_images === false
      ? []
      : await Promise.all(
          images.map(async (image, i) => {
            const bytes = withPngText(await readImage(store, image), PARAMETERS, infotexts[i]);
            return bytes.toString('base64');
          }),
        );
  const parameters = { ...body, init_images: null, mask: null, alwayson_scripts: scriptsOf(body) };
  return { images: sent, parameters, info: infoOf(record, body, infotexts) };
}

/** Without the pictures of ControlNet's units. */
const scriptsOf = ({ alwayson_scripts }: Edit): unknown =>
  JSON.parse(
    JSON.stringify(alwayson_scripts ?? {}, (name, value) => (/^(?:input_)?image$/.test(name) ? null : value)),
  );

function infoOf(record: SucceededRecord, body: Edit, infotexts: readonly string[]): string {
  const input = TextToImageInputSchema.parse(record.input);
  const seeds = record.output.images.map(({ seed }) => seed);
  const { negative_prompt, width, height, steps, guidance, strength } = input;
  const prompt = promptOf(input);
  return JSON.stringify({
    prompt,
    all_prompts: seeds.map(() => prompt),
    negative_prompt,
    all_negative_prompts: seeds.map(() => negative_prompt),
    seed: seeds[0],
    all_seeds: seeds,
    subseed: seeds[0],
    all_subseeds: seeds,
    subseed_strength: 0,
    width,
    height,
    sampler_name: webUiNames(input.sampler).name,
    cfg_scale: guidance,
    steps,
    batch_size: body.batch_size ?? 1,
    restore_faces: false,
    face_restoration_model: null,
    sd_model_name: record.model,
    sd_model_hash: null,
    sd_vae_name: null,
    sd_vae_hash: null,
    seed_resize_from_w: -1,
    seed_resize_from_h: -1,
    denoising_strength: strength ?? null,
    extra_generation_params: {},
    index_of_first_image: 0,
    infotexts,
    styles: [],
    job_timestamp: timestampOf(record.created_at),
    clip_skip: input.clip_skip ?? 1,
    is_using_inpainting_conditioning: false,
    version: 'lehr',
    job_id: record.id,
  });
}
