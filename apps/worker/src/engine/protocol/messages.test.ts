import { expect, test } from 'vitest';
import type { FromEngine, SampleId, ToEngine } from './messages.ts';

const SAMPLE = 'job_01jd3v9s6w0000000000000000.0.f00d' as SampleId;

/** One message of each kind; the compiler insists that none is missing. */
const TO_ENGINE: { [Type in ToEngine['type']]: Extract<ToEngine, { type: Type }> } = {
  open: {
    type: 'open',
    settings: {
      providers: ['cuda', 'cpu'],
      rowCap: 'auto',
      threads: 2,
      checkpoints: { everySteps: 5, everyMs: 10_000, bytesPerS: 16_000_000 },
    },
    models: [
      {
        ref: 'sd-turbo@1',
        task: 'diffusion',
        folder: 'models/sd-turbo',
        warmUp: { width: 512, height: 512 },
      },
      { ref: 'whisper-tiny@1', task: 'whisper', folder: 'models/whisper-tiny', variant: '_quantized' },
      {
        ref: 'sharp@1',
        task: 'transform',
        folder: 'models/sharp',
        result: 'picture',
        scale: 4,
        input: { multiple: 8, channels: 'bgr' },
      },
    ],
  },
  submit: {
    type: 'submit',
    samples: [
      {
        id: SAMPLE,
        task: 'diffusion',
        model: 'sd-turbo@1',
        lane: 'diffusion.sd-turbo@1.512x512',
        prompt: 'a teapot',
        negativePrompt: '',
        width: 512,
        height: 512,
        steps: 4,
        guidance: 1,
        seed: 7,
        sampler: 'euler',
        maxBatchMates: 8,
        checkpoint: Uint8Array.of(76, 69, 72, 82),
        checkpointAtEnd: true,
      },
      {
        id: SAMPLE,
        task: 'whisper',
        model: 'whisper-tiny@1',
        lane: 'whisper.whisper-tiny@1',
        mel: Float32Array.of(-1.5, 0.25),
        contentFrames: 420,
        language: null,
        translate: false,
        prompt: 'kiln, lehr',
        previousTokens: [50364, 7652],
        temperature: 0,
        fallback: true,
        seed: 7,
        timestamps: 'word',
        maxBatchMates: 8,
      },
      {
        id: SAMPLE,
        task: 'transform',
        model: 'sharp@1',
        lane: 'transform.sharp@1',
        pixels: Uint8Array.of(255, 0, 0),
        width: 1,
        height: 1,
        topK: 5,
        maxBatchMates: 8,
      },
    ],
  },
  cancel: { type: 'cancel', sample: SAMPLE },
  suspend: { type: 'suspend', sample: SAMPLE },
  preview: { type: 'preview', sample: SAMPLE },
  'open-model': {
    type: 'open-model',
    model: { ref: 'whisper-tiny@2', folder: '/models/whisper-tiny-2', task: 'whisper' },
  },
  'close-model': { type: 'close-model', ref: 'whisper-tiny@2' },
  close: { type: 'close' },
};

const FROM_ENGINE: { [Type in FromEngine['type']]: Extract<FromEngine, { type: Type }> } = {
  ready: {
    type: 'ready',
    models: [
      {
        ref: 'sd-turbo@1',
        batching: 'step',
        graphs: [{ graph: 'unet', provider: 'cuda' }],
        stepMs: [
          [1, 70],
          [2, 133],
        ],
        rowCap: 4,
        maxPromptTokens: 77,
      },
      {
        ref: 'whisper-tiny@1',
        batching: 'aligned',
        reason: 'its positions are picked from a table in 2 places, wanted one',
        graphs: [{ graph: 'encoder', provider: 'cpu' }],
        stepMs: [[1, 5]],
        rowCap: 32,
        whisper: {
          frontEnd: {
            sampleRate: 16_000,
            melBins: 80,
            fftSize: 400,
            hopLength: 160,
            windowSamples: 480_000,
            windowFrames: 3000,
          },
          languages: ['en', 'es'],
          timesWords: true,
        },
      },
    ],
    unavailable: [
      { ref: 'sd-turbo@2', failure: { code: 'model-unavailable', message: 'no unet/model.onnx' } },
    ],
  },
  'model-opened': {
    type: 'model-opened',
    model: {
      ref: 'sd-turbo@2',
      batching: 'step',
      graphs: [{ graph: 'unet', provider: 'cpu' }],
      stepMs: [[1, 300]],
      rowCap: 2,
      maxPromptTokens: 77,
    },
  },
  'model-closed': { type: 'model-closed', ref: 'whisper-tiny@2', freedBytes: 150_000_000 },
  'model-unavailable': {
    type: 'model-unavailable',
    ref: 'sd-turbo@2',
    failure: { code: 'model-unavailable', message: 'no unet/model.onnx' },
  },
  'open-failed': {
    type: 'open-failed',
    failure: { code: 'model-unavailable', message: 'no unet/model.onnx' },
  },
  'row-cap': { type: 'row-cap', lane: 'diffusion.sd-turbo@1.512x512', rows: 4 },
  running: { type: 'running', samples: [SAMPLE] },
  'last-step': { type: 'last-step', sample: SAMPLE },
  'lane-changed': { type: 'lane-changed', sample: SAMPLE, lane: 'diffusion.sd-turbo@1.1024x1024' },
  stepped: {
    type: 'stepped',
    lane: 'diffusion.sd-turbo@1.512x512',
    rows: 1,
    cap: 2,
    ms: 70,
    hostMs: 2,
    samples: [{ id: SAMPLE, step: 1, steps: 4 }],
  },
  checkpoints: { type: 'checkpoints', samples: [{ id: SAMPLE, step: 2, bytes: Uint8Array.of(76, 69) }] },
  'noise-thread-lost': {
    type: 'noise-thread-lost',
    failure: { code: 'engine-failed', message: 'Worker terminated due to reaching memory limit' },
  },
  resumed: { type: 'resumed', sample: SAMPLE, step: 2 },
  'checkpoint-ignored': { type: 'checkpoint-ignored', sample: SAMPLE, reason: 'it is damaged' },
  preview: {
    type: 'preview',
    sample: SAMPLE,
    step: 2,
    pixels: Uint8Array.of(200, 20, 10),
    width: 1,
    height: 1,
  },
  finished: {
    type: 'finished',
    sample: SAMPLE,
    pixels: Uint8Array.of(255, 0, 0),
    width: 1,
    height: 1,
    batchSize: 1.5,
    cuts: { prompt: { read: 77, tokens: 132 } },
    sizes: { negativePrompt: { tokens: 90, chunks: 2 } },
    timings: { textMs: 12, startedAt: 15, denoisedAt: 295, decodedAt: 560, decodeMs: 260, deviceMs: 302.5 },
  },
  segment: {
    type: 'segment',
    sample: SAMPLE,
    segment: { start: 0, end: 1.6, text: ' Fire it slowly.', tokens: [50364, 7652, 50444] },
    provisional: true,
  },
  'decoder-progress': {
    type: 'decoder-progress',
    lane: 'whisper.whisper-tiny@1',
    calls: 12,
    tokens: 90,
    ms: 101,
    samples: [{ id: SAMPLE, tokens: 17 }],
  },
  transcribed: {
    type: 'transcribed',
    sample: SAMPLE,
    segments: [{ start: 0, end: 1.6, text: ' Fire it slowly.', tokens: [50364, 7652, 50444] }],
    words: [{ word: 'Fire', start: 0, end: 0.4 }],
    tokens: [50364, 7652, 50444],
    nextContext: [7652, 50364, 7652, 50444],
    language: 'en',
    advanceFrames: 160,
    temperature: 0,
    avgLogProbability: -0.21,
    compressionRatio: 0.9,
    noSpeechProbability: 0.02,
    batchSize: 7.5,
    timings: { encodedAt: 210, startedAt: 260, decodedAt: 480, deviceMs: 41.25 },
  },
  answered: {
    type: 'answered',
    sample: SAMPLE,
    answers: { type: 'text-embedding', values: Float32Array.of(0.6, 0.8), dimensions: 2 },
    tokens: 7,
    truncated: [],
    batchSize: 4,
    timings: { tokenizeMs: 0.2, startedAt: 1, endedAt: 9, deviceMs: 2.5 },
  },
  'text-progress': {
    type: 'text-progress',
    lane: 'text.minilm@1',
    runs: 3,
    texts: 40,
    tokens: 900,
    padding: 31,
    ms: 102,
    samples: [{ id: SAMPLE, answered: 12 }],
  },
  transformed: {
    type: 'transformed',
    sample: SAMPLE,
    result: { kind: 'mask', values: Uint8Array.of(255), width: 1, height: 1 },
    tiles: 1,
    batchSize: 2,
    timings: { startedAt: 1, endedAt: 9, deviceMs: 2.5 },
  },
  'transform-progress': {
    type: 'transform-progress',
    lane: 'transform.sharp@1',
    runs: 2,
    rows: 8,
    tiles: 7,
    ms: 102,
    samples: [{ id: SAMPLE, done: 5, of: 12 }],
  },
  failed: {
    type: 'failed',
    sample: SAMPLE,
    failure: {
      code: 'invalid-input',
      message: 'This model cannot translate.',
      problems: [{ pointer: '/input/task', detail: 'This model cannot translate.' }],
    },
  },
  canceled: { type: 'canceled', sample: SAMPLE },
};

test.each(Object.entries(TO_ENGINE))(
  'The %s message from the worker to the engine is unchanged',
  (_, message) => {
    expect(message).toMatchSnapshot();
  },
);

test.each(Object.entries(FROM_ENGINE))(
  'The %s message from the engine to the worker is unchanged',
  (_, message) => {
    expect(message).toMatchSnapshot();
  },
);
