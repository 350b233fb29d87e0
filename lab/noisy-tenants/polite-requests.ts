/** What a polite tenant asks: one request for every operation of the OpenAPI document, in an order in which each makes sense. */
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { SAMPLES } from '../../test/support/speech-files.ts';

export interface PoliteRequest {
  /** Of the OpenAPI document. */
  readonly operation: string;
  readonly method: string;
  /** With names such as `__job__` for what exists. */
  readonly path: string;
  readonly body?: unknown;
  /** Makes the multipart body. */
  readonly form?: () => FormData;
  /** Statuses of a request that is admitted. */
  readonly statuses: readonly number[];
  /** The field `id` of the answer gets this name for the requests that follow. */
  readonly keeps?: string;
  readonly isAdmin?: true;
}

const PROMPT = 'a red circle on a blue background';
const speech = await readFile(new URL('en_circle.wav', SAMPLES));
const picture = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#a33' } })
  .png()
  .toBuffer();

function fileForm(
  field: string,
  fields: Readonly<Record<string, string>> = {},
  [bytes, fileName] = [speech, 'a.wav'],
): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append(field, new Blob([new Uint8Array(bytes)]), fileName);
  return form;
}

const get = (operation: string, path: string, statuses: readonly number[] = [200]): PoliteRequest => ({
  operation,
  method: 'GET',
  path,
  statuses,
});

const post = (
  operation: string,
  path: string,
  statuses: readonly number[],
  more: Partial<PoliteRequest> = {},
): PoliteRequest => ({ operation, method: 'POST', path, statuses, ...more });

const JOBS: readonly PoliteRequest[] = [
  post('createJob', '/v1/jobs', [202], {
    body: { type: 'text-to-image', input: { prompt: PROMPT } },
    keeps: 'new_job',
  }),
  get('listJobs', '/v1/jobs?limit=5'),
  get('getJob', '/v1/jobs/__new_job__'),
  get('followJob', '/v1/jobs/__job__/events', [200, 204]),
  get('followJobByLink', '__events_link__', [200, 204]),
  // The jobs have no webhook.
  get('getWebhookLog', '/v1/jobs/__job__/webhook', [200, 404]),
  post('redeliverWebhook', '/v1/jobs/__job__/webhook/redeliver', [202, 404, 409]),
  post('cancelJob', '/v1/jobs/__new_job__/cancel', [200, 202]),
  // The job may run until its next step.
  post('retryJob', '/v1/jobs/__new_job__/retry', [202, 409]),
  { operation: 'deleteJob', method: 'DELETE', path: '/v1/jobs/__new_job__', statuses: [202, 204] },
];

const ACTIONS: readonly PoliteRequest[] = [
  post('createJobAction', '/v1/job-actions', [202], {
    body: { action: 'delete', filter: { metadata: { polite: 'yes' } } },
    keeps: 'new_action',
  }),
  get('listJobActions', '/v1/job-actions'),
  get('getJobAction', '/v1/job-actions/__new_action__'),
  post('cancelJobAction', '/v1/job-actions/__new_action__/cancel', [200]),
];

const SCHEDULES: readonly PoliteRequest[] = [
  post('createSchedule', '/v1/schedules', [201], {
    body: { name: 'polite', every_s: 86_400, request: { type: 'text-to-image', input: { prompt: PROMPT } } },
    keeps: 'new_schedule',
  }),
  get('listSchedules', '/v1/schedules'),
  get('getSchedule', '/v1/schedules/__new_schedule__'),
  {
    operation: 'changeSchedule',
    method: 'PATCH',
    path: '/v1/schedules/__new_schedule__',
    body: { paused: true },
    statuses: [200],
  },
  { operation: 'deleteSchedule', method: 'DELETE', path: '/v1/schedules/__new_schedule__', statuses: [204] },
];

const BATCHES: readonly PoliteRequest[] = [
  post('createBatch', '/v1/batches', [200], {
    body: { requests: [{ type: 'text-to-image', input: { prompt: PROMPT } }] },
    keeps: 'new_batch',
  }),
  get('listBatches', '/v1/batches?limit=5'),
  get('getBatch', '/v1/batches/__new_batch__'),
  get('listBatchLines', '/v1/batches/__new_batch__/lines'),
  post('cancelBatch', '/v1/batches/__new_batch__/cancel', [200]),
  // It has ended soon.
  get('followBatch', '/v1/batches/__new_batch__/events', [200, 204]),
  // While it is being cancelled there is none yet.
  get('getBatchZip', '/v1/batches/__new_batch__/results.zip', [200, 409]),
  get('getBatchWebhookLog', '/v1/batches/__new_batch__/webhook'),
  // It has no webhook.
  post('redeliverBatchWebhook', '/v1/batches/__new_batch__/webhook/redeliver', [409]),
  // It may be cancelled when its job has ended, or not yet.
  post('retryBatch', '/v1/batches/__new_batch__/retry', [200, 409]),
];

const DIALECTS: readonly PoliteRequest[] = [
  post('createImage', '/v1/images/generations', [200], { body: { prompt: PROMPT } }),
  post('createImageEdit', '/v1/images/edits', [200], {
    form: () => fileForm('image', { prompt: PROMPT }, [picture, 'a.png']),
  }),
  post('createImageVariation', '/v1/images/variations', [200], {
    form: () => fileForm('image', {}, [picture, 'a.png']),
  }),
  post('drawPicture', '/t2i', [200], { body: { prompt: PROMPT } }),
  post('drawRecording', '/graph', [200], { form: () => fileForm('file') }),
  // The installation has no text model: these calls are answered when their model is not found.
  post('createEmbedding', '/v1/embeddings', [404], { body: { input: PROMPT } }),
  post('runModel', '/models/minilm', [404], { body: { inputs: PROMPT } }),
  post('runRoutedModel', '/hf-inference/models/minilm', [404], { body: { inputs: PROMPT } }),
  post('fillMask', '/fill-mask', [404], { body: { inputs: 'a red [MASK]' } }),
  post('createTranscription', '/v1/audio/transcriptions', [200], {
    form: () => fileForm('file', { model: 'ears' }),
  }),
  post('createTranslation', '/v1/audio/translations', [200], {
    form: () => fileForm('file', { model: 'ears' }),
  }),
  post('createPrediction', '/v1/predictions', [201, 202], {
    body: { version: 'lehr/tiny', input: { prompt: PROMPT } },
    keeps: 'new_prediction',
  }),
  post('createPredictionByModel', '/v1/models/lehr/tiny/predictions', [201, 202], {
    body: { input: { prompt: PROMPT } },
  }),
  get('listPredictions', '/v1/predictions'),
  get('getPrediction', '/v1/predictions/__prediction__'),
  post('cancelPrediction', '/v1/predictions/__new_prediction__/cancel', [200]),
  get('streamPrediction', '__stream_link__'),
  get('getReplicateModel', '/v1/models/lehr/tiny'),
  get('listReplicateVersions', '/v1/models/lehr/tiny/versions'),
  get('getReplicateVersion', '/v1/models/lehr/tiny/versions/tiny@1'),
];

const PNG = picture.toString('base64');
const WEB_UI: readonly PoliteRequest[] = [
  post('webUiTxt2Img', '/sdapi/v1/txt2img', [200], { body: { prompt: PROMPT, steps: 2 } }),
  post('webUiImg2Img', '/sdapi/v1/img2img', [200], {
    body: { prompt: PROMPT, steps: 2, init_images: [PNG] },
  }),
  get('webUiProgress', '/sdapi/v1/progress'),
  post('webUiInterrupt', '/sdapi/v1/interrupt', [200]),
  post('webUiSkip', '/sdapi/v1/skip', [200]),
  post('webUiPngInfo', '/sdapi/v1/png-info', [200], { body: { image: PNG } }),
  // There is no upscaler.
  post('webUiUpscale', '/sdapi/v1/extra-single-image', [422], { body: { image: PNG } }),
  get('webUiOptions', '/sdapi/v1/options'),
  post('webUiSetOptions', '/sdapi/v1/options', [200], { body: {} }),
  get('webUiSdModels', '/sdapi/v1/sd-models'),
  post('webUiRefreshCheckpoints', '/sdapi/v1/refresh-checkpoints', [200]),
  get('webUiSamplers', '/sdapi/v1/samplers'),
  get('webUiSchedulers', '/sdapi/v1/schedulers'),
  get('webUiUpscalers', '/sdapi/v1/upscalers'),
  get('webUiLatentUpscaleModes', '/sdapi/v1/latent-upscale-modes'),
  get('webUiLoras', '/sdapi/v1/loras'),
  get('webUiControlVersion', '/controlnet/version'),
  get('webUiControlModels', '/controlnet/model_list'),
  get('webUiControlModules', '/controlnet/module_list'),
  get('webUiEmbeddings', '/sdapi/v1/embeddings'),
  get('webUiSdVae', '/sdapi/v1/sd-vae'),
  get('webUiHypernetworks', '/sdapi/v1/hypernetworks'),
  get('webUiFaceRestorers', '/sdapi/v1/face-restorers'),
  get('webUiPromptStyles', '/sdapi/v1/prompt-styles'),
  get('webUiScripts', '/sdapi/v1/scripts'),
];

const REST: readonly PoliteRequest[] = [
  get('listModels', '/v1/models'),
  get('getModel', '/v1/models/tiny'),
  post('createFile', '/v1/files', [201], { form: () => fileForm('content'), keeps: 'new_file' }),
  get('getFile', '/v1/files/__new_file__'),
  get('listFiles', '/v1/files?limit=5'),
  get('getFileContent', '/v1/files/__new_file__/content'),
  { operation: 'deleteFile', method: 'DELETE', path: '/v1/files/__new_file__', statuses: [204] },
  get('getObject', '__object_link__'),
  get('listQueues', '/v1/queues'),
  get('getActivity', '/v1/activity'),
  get('getHealth', '/healthz'),
  get('getReadiness', '/readyz'),
  // A secret is shown only once, and a tenant may not rotate it often.
  get('getDefaultWebhookSecret', '/v1/webhooks/default/secret', [200, 409]),
  get('listWebhookSecrets', '/v1/webhooks/secret'),
  post('showWebhookSecret', '/v1/webhooks/secret', [201, 409]),
  post('rotateWebhookSecret', '/v1/webhooks/secret/rotate', [201, 409, 429]),
  // Not a public address: no connection is made.
  post('testWebhook', '/v1/webhooks/test', [200, 422], { body: { url: 'https://127.0.0.1/hook' } }),
];

const KEYS: readonly PoliteRequest[] = [
  { ...get('listAuditEntries', '/v1/audit'), isAdmin: true },
  { ...get('getScale', '/v1/scale/all'), isAdmin: true },
  { ...get('getCharts', '/v1/charts'), isAdmin: true },
  { ...get('listSettings', '/v1/settings'), isAdmin: true },
  get('getUsage', '/v1/usage?by=day,key,model'),
  { ...get('listDeadLetters', '/v1/dead-letters'), isAdmin: true },
  { ...get('getTraffic', '/v1/traffic'), isAdmin: true },
  post('createKey', '/v1/keys', [201], { body: { tenant: 'spare' }, keeps: 'new_key', isAdmin: true }),
  { ...get('listKeys', '/v1/keys'), isAdmin: true },
  {
    operation: 'changeKey',
    method: 'PATCH',
    path: '/v1/keys/__new_key__',
    body: { name: 'x' },
    statuses: [200],
    isAdmin: true,
  },
  { operation: 'revokeKey', method: 'DELETE', path: '/v1/keys/__new_key__', statuses: [204], isAdmin: true },
];

/** Of a model that there is not: a pause would stop the jobs that are measured. */
const PAUSES: readonly PoliteRequest[] = [
  { ...get('listPauses', '/v1/pauses'), isAdmin: true },
  {
    operation: 'pauseModel',
    method: 'PUT',
    path: '/v1/pauses/none',
    body: {},
    statuses: [404],
    isAdmin: true,
  },
  { operation: 'resumeModel', method: 'DELETE', path: '/v1/pauses/none', statuses: [404], isAdmin: true },
];

/** The installation has one version of each model: a rollout of it is refused, and there is none to change. */
const ROLLOUTS: readonly PoliteRequest[] = [
  { ...get('listRollouts', '/v1/rollouts'), isAdmin: true },
  { ...get('getRollout', '/v1/rollouts/tiny', [404]), isAdmin: true },
  {
    operation: 'deployVersion',
    method: 'PUT',
    path: '/v1/rollouts/tiny',
    body: { version: '1', weight: 10 },
    statuses: [422],
    isAdmin: true,
  },
  {
    operation: 'changeRollout',
    method: 'PATCH',
    path: '/v1/rollouts/tiny',
    body: { state: 'paused' },
    statuses: [404],
    isAdmin: true,
  },
  { operation: 'removeRollout', method: 'DELETE', path: '/v1/rollouts/tiny', statuses: [404], isAdmin: true },
];

export const POLITE_REQUESTS: readonly PoliteRequest[] = [
  ...JOBS,
  ...ACTIONS,
  ...SCHEDULES,
  ...BATCHES,
  ...DIALECTS,
  ...WEB_UI,
  ...REST,
  ...KEYS,
  ...ROLLOUTS,
  ...PAUSES,
];
