/** POST /sdapi/v1/extra-single-image: makes a job of a model that enlarges pictures, and holds the call until it is finished. */
import { createRoute, z } from '@hono/zod-openapi';
import {
  type FieldProblem,
  type JobRequest,
  MAX_MEDIA_REFERENCE,
  MAX_SCALE,
  type Registry,
  scaledSize,
  type TransformModelEntry,
} from '@lehr/shared';
import { refusal } from '../../base/field-problems.ts';
import { guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER_OR_BASIC } from '../../http/responses.ts';
import { pictureSize } from '../../jobs/picture-header.ts';
import { IDEMPOTENCY_HEADER } from '../../jobs/requests/call-headers.ts';
import { nativeRequest } from '../../jobs/requests/field-names.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { readImage } from '../read-image.ts';
import { nullsAsAbsent } from '../without-nulls.ts';
import { heldCall } from './calls.ts';
import { callErrors, UPSCALE_NAMES } from './errors.ts';
import { NOT_SERVED, nativeImage } from './picture-contract.ts';
import { pictureBytes } from './picture-tools.ts';

const number = z.number().min(0).optional();
const OFF = 'Only 0: Lehr has none.';

const UpscaleSchema = nullsAsAbsent({
  image: z.string().min(1).max(MAX_MEDIA_REFERENCE).meta({
    description: 'In base64, bare or as a `data:` URI; with `resize_mode: 0` also an http(s) URL.',
  }),
  upscaler_1: z
    .string()
    .max(100)
    .optional()
    .meta({ description: 'A name of the list of upscalers that is a model.', example: 'demo-upscale' }),
  resize_mode: z.int().min(0).max(1).optional().meta({
    description:
      '0 (default): `upscaling_resize` times as large. 1: as large as `upscaling_resize_w` and `_h` say.',
  }),
  upscaling_resize: z.number().positive().max(MAX_SCALE).optional().meta({ description: 'Default: 2.' }),
  upscaling_resize_w: z.int().positive().optional().meta({ description: 'Pixels. Default: 512.' }),
  upscaling_resize_h: z.int().positive().optional().meta({ description: 'Pixels. Default: 512.' }),
  upscaling_crop: z.boolean().optional().meta({
    description:
      'With `resize_mode: 1` and another shape than that of the picture: only false, and the result covers the size. Lehr does not crop.',
  }),
  upscaler_2: z.string().max(100).optional(),
  extras_upscaler_2_visibility: number.meta({ description: 'Only 0, unless `upscaler_2` is `None`.' }),
  gfpgan_visibility: number.meta({ description: OFF }),
  codeformer_visibility: number.meta({ description: OFF }),
}).meta({ id: 'WebUiUpscale' });
type Upscale = z.output<typeof UpscaleSchema>;

const route = createRoute({
  method: 'post',
  path: '/sdapi/v1/extra-single-image',
  tags: ['a1111'],
  security: BEARER_OR_BASIC,
  operationId: 'webUiUpscale',
  summary: 'Enlarge a picture, for clients of the web UI',
  description:
    'Makes a picture-transform job and holds the call until it is finished, as the drawing calls do. Fields that are not listed have no effect.',
  request: {
    headers: z.object(IDEMPOTENCY_HEADER),
    body: { required: true, content: { 'application/json': { schema: UpscaleSchema } } },
  },
  responses: {
    200: {
      description: 'The picture.',
      content: {
        'application/json': {
          schema: z
            .object({
              html_info: z.string(),
              image: z.string().meta({ description: 'A PNG in base64.' }),
            })
            .meta({ id: 'WebUiUpscaled' }),
        },
      },
    },
    ...callErrors(),
  },
});

export function webUiUpscaleRoutes(app: Api, parts: ApiParts): void {
  app.on('POST', route.path, countRefusals(parts.metrics), requires('submit'), guardQuota(parts.quotas));
  app.openapi(route, async (c) => {
    const body = c.req.valid('json');
    const bytes = () => pictureBytes(c, body.image, '/image');
    const { record, headers } = await heldCall(c, parts, {
      path: route.path,
      body,
      request: upscaleRequest(parts.registry, body, bytes),
      names: UPSCALE_NAMES,
    });
    const [picture] = record.output.images;
    const image = Buffer.from(await readImage(parts.store, picture)).toString('base64');
    const html_info = `<p>Postprocess upscale by: ${record.input.scale}, Postprocess upscaler: ${record.model}</p>`;
    return answerJson(c, { html_info, image }, 200, headers);
  });
}

/** The models that enlarge pictures, as the list of upscalers has them. */
export const upscalers = ({ models }: Registry): TransformModelEntry[] =>
  models.filter(
    (model): model is TransformModelEntry => model.task === 'transform' && model.result === 'picture',
  );

function upscaleRequest(registry: Registry, body: Upscale, bytes: () => Uint8Array): JobRequest {
  const problems = [...unserved(body)];
  const wanted = (body.upscaler_1 ?? '').toLowerCase();
  const models = upscalers(registry);
  const model = models.find(({ name, aliases }) => [name, ...aliases].includes(wanted));
  if (!model) {
    const names =
      models.map(({ name }) => name).join(', ') || 'none: no model of this server enlarges pictures';
    problems.push({ pointer: '/upscaler_1', detail: `must be one of: ${names}` });
  }
  if (problems.length > 0) throw refusal('invalid-input', problems);
  const input = {
    image: nativeImage(body.image),
    scale: body.resize_mode === 1 ? scaleTo(body, bytes()) : (body.upscaling_resize ?? 2),
  };
  return nativeRequest({ type: 'picture-transform', model: model?.name, input }, UPSCALE_NAMES);
}

/** The scale by which the picture covers the wanted size, as in the web UI. */
function scaleTo(body: Upscale, picture: Uint8Array): number {
  const { upscaling_resize_w: width = 512, upscaling_resize_h: height = 512, upscaling_crop = true } = body;
  const size = pictureSize(picture);
  if (!size) {
    const detail = 'must be a PNG, JPEG or WebP file whose size can be read';
    throw refusal('invalid-input', [{ pointer: '/image', detail }]);
  }
  const scale = Math.max(width / size.width, height / size.height);
  const { width: w, height: h } = scaledSize(size, scale);
  if (upscaling_crop && (w !== width || h !== height)) {
    const detail = `must be false: the picture becomes ${w}x${h}, and Lehr does not crop it to ${width}x${height}`;
    throw refusal('invalid-input', [{ pointer: '/upscaling_crop', detail }]);
  }
  return scale;
}

/** What would give another picture. */
function unserved(body: Upscale): FieldProblem[] {
  const isSecond = !['', 'none'].includes((body.upscaler_2 ?? '').toLowerCase());
  const names = [
    ...(isSecond && (body.extras_upscaler_2_visibility ?? 0) > 0 ? ['upscaler_2'] : []),
    ...(['gfpgan_visibility', 'codeformer_visibility'] as const).filter((name) => (body[name] ?? 0) > 0),
  ];
  return names.map((name) => ({ pointer: `/${name}`, detail: NOT_SERVED }));
}
