/**
 * What goes over the wire, made from the API's OpenAPI document. Not written by hand:
 * `npx vitest run test/client/wire.test.ts -u` writes it anew, and without -u that test compares the two.
 */

export const OPERATIONS = {
  createJob: { method: 'POST', path: '/v1/jobs' },
  listJobs: { method: 'GET', path: '/v1/jobs' },
  getJob: { method: 'GET', path: '/v1/jobs/{id}' },
  deleteJob: { method: 'DELETE', path: '/v1/jobs/{id}' },
  cancelJob: { method: 'POST', path: '/v1/jobs/{id}/cancel' },
  followJob: { method: 'GET', path: '/v1/jobs/{id}/events' },
  createFile: { method: 'POST', path: '/v1/files' },
  listModels: { method: 'GET', path: '/v1/models' },
  listQueues: { method: 'GET', path: '/v1/queues' },
  createKey: { method: 'POST', path: '/v1/keys' },
  listKeys: { method: 'GET', path: '/v1/keys' },
  revokeKey: { method: 'DELETE', path: '/v1/keys/{id}' },
} as const;

export interface Operations {
  /** Have a job done. */
  createJob: {
    path: Record<never, never>;
    query: {
      readonly wait?: number | undefined;
    };
    headers: {
      readonly 'idempotency-key'?: string | undefined;
      readonly prefer?: string | undefined;
    };
    body: JobRequest;
    answer: Job;
  };
  /** List your jobs, newest first. */
  listJobs: {
    path: Record<never, never>;
    query: {
      readonly status?: 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'expired' | undefined;
      readonly type?: 'text-to-image' | 'speech-to-text' | 'speech-to-image' | 'workflow' | undefined;
      readonly model?: string | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    };
    headers: Record<never, never>;
    body: undefined;
    answer: JobList;
  };
  /** Look at a job. */
  getJob: {
    path: {
      readonly id: string;
    };
    query: {
      readonly wait?: number | undefined;
    };
    headers: {
      readonly 'if-none-match'?: string | undefined;
    };
    body: undefined;
    answer: Job;
  };
  /** Forget a job. */
  deleteJob: {
    path: {
      readonly id: string;
    };
    query: Record<never, never>;
    headers: Record<never, never>;
    body: undefined;
    answer: Job | undefined;
  };
  /** Call a job off. */
  cancelJob: {
    path: {
      readonly id: string;
    };
    query: Record<never, never>;
    headers: Record<never, never>;
    body: undefined;
    answer: Job;
  };
  /** Follow a job. */
  followJob: {
    path: {
      readonly id: string;
    };
    query: {
      readonly after?: number | undefined;
      readonly previews?: 'true' | 'false' | undefined;
    };
    headers: {
      readonly 'last-event-id'?: string | undefined;
    };
    body: undefined;
    answer: JobEvent | undefined;
  };
  /** Upload a file. */
  createFile: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: Record<never, never>;
    body: FormData;
    answer: File;
  };
  /** List the models on offer. */
  listModels: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: Record<never, never>;
    body: undefined;
    answer: ModelList;
  };
  /** See how full the queues are. */
  listQueues: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: Record<never, never>;
    body: undefined;
    answer: QueueList;
  };
  /** Make a key. */
  createKey: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: Record<never, never>;
    body: KeyRequest;
    answer: NewKey;
  };
  /** List the keys. */
  listKeys: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: Record<never, never>;
    body: undefined;
    answer: KeyList;
  };
  /** Revoke a key. */
  revokeKey: {
    path: {
      readonly id: string;
    };
    query: Record<never, never>;
    headers: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
}

export interface File {
  readonly id: string;
  readonly name: string;
  readonly content_type: string;
  /** Bytes. */
  readonly size: number;
  readonly checksums: {
    readonly sha256: string;
  };
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly expires_at: string;
  readonly urls: {
    /** Put it into a job's input. */
    readonly get: string;
  };
}

export interface Image {
  /** Carries its own right to be read until `expires_at`; ask for the job again for a new one. */
  readonly url: string;
  readonly content_type: string;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly seed: number;
  readonly expires_at: string;
}

export interface Job {
  readonly id: string;
  readonly object: 'job';
  readonly type: 'text-to-image' | 'speech-to-text' | 'speech-to-image' | 'workflow';
  /** `name@version` that runs the job. */
  readonly model: string;
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'expired';
  readonly priority: 'interactive' | 'standard' | 'bulk';
  /** Tries begun so far; a crashed worker costs one. */
  readonly attempt: number;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  /** When the record of a finished job is forgotten. */
  readonly expires_at: string | null;
  readonly deadline_at: string | null;
  /** While the job waits: its place in line, and when it should be done if a worker serves it. */
  readonly queue: {
    readonly position: number;
    readonly eta_ms: number | null;
  } | null;
  readonly progress: Progress | null;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: JobOutputs | null;
  readonly error: JobError | null;
  readonly metrics: JobMetrics | null;
  readonly webhook: Webhook | null;
  /** Your own labels, at most 32; handed back untouched. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Of a workflow. */
  readonly nodes?: readonly NodeState[] | undefined;
  readonly links: {
    readonly self: string;
    /** Server-sent events, read with your key. */
    readonly events: string;
    /** The same for who sends no key, such as a browser; the link itself is the right, and expires. */
    readonly events_signed: string;
    readonly cancel: string;
  };
}

export interface JobError {
  readonly code:
    | 'invalid-request'
    | 'unauthenticated'
    | 'forbidden'
    | 'not-found'
    | 'model-not-found'
    | 'method-not-allowed'
    | 'conflict'
    | 'gone'
    | 'too-large'
    | 'unsupported-media'
    | 'invalid-input'
    | 'idempotency-mismatch'
    | 'rate-limited'
    | 'overloaded'
    | 'unavailable'
    | 'hold-expired'
    | 'internal'
    | 'engine-crashed'
    | 'engine-failed'
    | 'numeric-error'
    | 'out-of-memory'
    | 'model-unavailable'
    | 'storage-failed'
    | 'attempts-exhausted'
    | 'deadline-exceeded'
    | 'invalid-audio'
    | 'node-failed';
  readonly title: string;
  readonly detail: string;
  /** May the same job succeed when it is posted again? */
  readonly retryable: boolean;
}

export interface JobList {
  readonly data: readonly Job[];
  /** For `?cursor=`; null on the last page. */
  readonly next_cursor: string | null;
  readonly has_more: boolean;
}

export interface JobMetrics {
  readonly queue_ms: number;
  readonly run_ms: number;
  readonly total_ms: number;
  /** Mean number of samples or windows that shared this job's graph runs; null for a workflow. */
  readonly batch_size: number | null;
  readonly worker: string | null;
  readonly timings: Timings | SpeechTimings | WorkflowTimings;
  /** Seconds of audio transcribed. */
  readonly audio_seconds?: number | undefined;
}

export interface JobOutputs {
  readonly images?: readonly Image[] | undefined;
  readonly text?: string | undefined;
  /** ISO 639-1 code. */
  readonly language?: string | undefined;
  /** Seconds of audio. */
  readonly duration?: number | undefined;
  readonly task?: 'transcribe' | 'translate' | undefined;
  readonly segments?: readonly Segment[] | undefined;
  readonly words?: readonly Word[] | undefined;
}

export interface Key {
  readonly id: string;
  readonly object: 'key';
  readonly tenant: string;
  readonly name: string;
  /** How the key begins. */
  readonly prefix: string;
  readonly scopes: readonly ('submit' | 'read' | 'cancel' | 'admin')[];
  readonly limits: KeyLimits;
  readonly created_at: string;
  readonly expires_at: string | null;
  /** To the minute. */
  readonly last_used_at: string | null;
}

export interface KeyLimits {
  /** The tenant's jobs without an end, waiting and running together. */
  readonly max_jobs: number | null;
  /** Of these, the ones that wait. */
  readonly max_queued: number | null;
  /** Estimated engine seconds that the jobs of this key may cost per minute. It fills up steadily; a job that costs more than is left is taken and the rest owed. */
  readonly cost_per_minute_s: number | null;
  /** Requests for a job and uploads, counted by each API process for itself before it reads their body. */
  readonly requests_per_minute: number | null;
  /** Streams of job events open at once, counted by each API process for itself. */
  readonly max_streams: number | null;
  /** The tenant's share against others whose jobs of the same class wait in the same group. */
  readonly weight: number;
}

export interface KeyList {
  readonly object: 'list';
  readonly data: readonly Key[];
}

export interface KeyRequest {
  /** Whose jobs the key makes and sees. */
  readonly tenant: string;
  /** For people. */
  readonly name?: string | undefined;
  /** Stands in the key, so that people see what it is for. */
  readonly env?: string | undefined;
  readonly scopes?: readonly ('submit' | 'read' | 'cancel' | 'admin')[] | undefined;
  /** When it stops working by itself. */
  readonly expires_at?: string | null | undefined;
  readonly limits?:
    | {
        /** The tenant's jobs without an end, waiting and running together. */
        readonly max_jobs?: number | null | undefined;
        /** Of these, the ones that wait. */
        readonly max_queued?: number | null | undefined;
        /** Estimated engine seconds that the jobs of this key may cost per minute. It fills up steadily; a job that costs more than is left is taken and the rest owed. */
        readonly cost_per_minute_s?: number | null | undefined;
        /** Requests for a job and uploads, counted by each API process for itself before it reads their body. */
        readonly requests_per_minute?: number | null | undefined;
        /** Streams of job events open at once, counted by each API process for itself. */
        readonly max_streams?: number | null | undefined;
        /** The tenant's share against others whose jobs of the same class wait in the same group. */
        readonly weight?: number | undefined;
      }
    | undefined;
}

export interface ModelList {
  readonly object: 'list';
  readonly data: readonly Model[];
  readonly results: readonly {
    readonly owner: 'lehr';
    readonly name: string;
    readonly visibility: 'private';
    readonly run_count: number;
  }[];
  readonly next: null;
  readonly previous: null;
}

export interface NewKey {
  readonly id: string;
  readonly object: 'key';
  readonly tenant: string;
  readonly name: string;
  /** How the key begins. */
  readonly prefix: string;
  readonly scopes: readonly ('submit' | 'read' | 'cancel' | 'admin')[];
  readonly limits: KeyLimits;
  readonly created_at: string;
  readonly expires_at: string | null;
  /** To the minute. */
  readonly last_used_at: string | null;
  /** The key itself. It is shown this once and stored nowhere. */
  readonly key: string;
}

export interface NodeState {
  readonly id: string;
  readonly type: 'text-to-image' | 'speech-to-text' | 'speech-to-image' | 'workflow';
  readonly model: string;
  readonly job: string | null;
  readonly status: 'waiting' | 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'expired';
  readonly progress: Progress | null;
  readonly output: JobOutputs | null;
  readonly error: JobError | null;
  readonly metrics: JobMetrics | null;
}

export interface Preview {
  /** The job whose picture it is: this one, or a node of it. */
  readonly id: string;
  readonly step: number;
  readonly steps: number;
  /** Which picture of the job. */
  readonly index: number;
  readonly content_type: string;
  /** An image of at most 64 x 64 pixels, for a page to enlarge. */
  readonly data: string;
}

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** The id of the request, as in `x-request-id`. */
  readonly instance: string;
  readonly errors?:
    | readonly {
        readonly pointer: string;
        readonly detail: string;
      }[]
    | undefined;
}

export interface Progress {
  readonly fraction: number;
  readonly stage: 'text' | 'denoise' | 'decode' | 'upload' | 'audio' | 'transcribe' | 'nodes';
  readonly step: number;
  readonly steps: number;
}

export interface Queue {
  readonly name: string;
  readonly task: 'diffusion' | 'whisper';
  /** `name@version`. */
  readonly model: string;
  readonly waiting: number;
  readonly running: number;
  /** How long the job that has waited longest has waited. */
  readonly oldest_age_ms: number | null;
  /** Live workers that serve the group. */
  readonly workers: number;
  /** How long a new job of each class would wait, about; null without workers. */
  readonly wait_ms: {
    readonly interactive?: number | undefined;
    readonly standard?: number | undefined;
    readonly bulk?: number | undefined;
  } | null;
  /** Whether new jobs are taken: of every class (`closed`), only of the more urgent ones (`partly-open`), or none (`open`). A job is refused with 503 when it would wait longer than LEHR_MAX_WAIT_S. */
  readonly breaker: 'closed' | 'partly-open' | 'open';
  /** The running batches of the group. */
  readonly lanes: readonly {
    readonly worker: string;
    readonly samples: number;
    readonly rows: number;
    readonly row_cap: number;
    readonly row_steps_per_s: number;
  }[];
}

export interface QueueList {
  readonly object: 'list';
  readonly data: readonly Queue[];
  /** Every model version on offer, with the worst of its groups. */
  readonly models: readonly {
    readonly model: string;
    readonly workers: number;
    /** Whether new jobs are taken: of every class (`closed`), only of the more urgent ones (`partly-open`), or none (`open`). A job is refused with 503 when it would wait longer than LEHR_MAX_WAIT_S. */
    readonly breaker: 'closed' | 'partly-open' | 'open';
  }[];
}

export interface Segment {
  readonly id: number;
  /** Where its window began, in frames of 10 ms. */
  readonly seek: number;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly tokens: readonly number[];
  readonly temperature: number;
  readonly avg_logprob: number;
  readonly compression_ratio: number;
  readonly no_speech_prob: number;
}

export interface SpeechTimings {
  /** From the request until a worker took the job. */
  readonly queued: number;
  /** Getting the audio. */
  readonly fetch: number;
  /** Turning it into a waveform. */
  readonly decode: number;
  /** From the first window to the last segment, waiting included. */
  readonly transcribe: number;
  /** Writing the transcript. */
  readonly store: number;
}

export interface SpeechToImageInput {
  /** What to keep out; needs guidance above 1. */
  readonly negative_prompt?: string | undefined;
  /** Pixels, a multiple of the model's size step. */
  readonly width?: number | undefined;
  /** Pixels, a multiple of the model's size step. */
  readonly height?: number | undefined;
  /** Denoising steps. */
  readonly steps?: number | undefined;
  /** Classifier-free guidance scale; at 1 or below the negative prompt is not run. */
  readonly guidance?: number | undefined;
  /** Seed of the first picture; picture i uses seed + i. Chosen at random when absent. */
  readonly seed?: number | undefined;
  readonly sampler?:
    | 'ddim'
    | 'euler'
    | 'euler_a'
    | 'dpmpp_2m'
    | 'dpmpp_2m_karras'
    | 'dpmpp_2m_sde_karras'
    | 'lcm'
    | 'pndm'
    | 'unipc'
    | undefined;
  /** How many pictures, each its own seed. */
  readonly n?: number | undefined;
  readonly output_format?: 'png' | 'webp' | 'jpeg' | undefined;
  /** Write the prompt into the file's metadata too. */
  readonly embed_prompt?: boolean | undefined;
  /** An http(s) URL, a `data:` URI, or the link of a file uploaded before. */
  readonly audio: string;
  /** Spoken language, ISO 639-1. Absent: detected. */
  readonly language?: string | undefined;
  /** `translate` writes English whatever is spoken; needs a multilingual model. */
  readonly task?: 'transcribe' | 'translate' | undefined;
}

export interface SpeechToTextInput {
  /** An http(s) URL, a `data:` URI, or the link of a file uploaded before. */
  readonly audio: string;
  /** Spoken language, ISO 639-1. Absent: detected. */
  readonly language?: string | undefined;
  /** `translate` writes English whatever is spoken; needs a multilingual model. */
  readonly task?: 'transcribe' | 'translate' | undefined;
  /** Text that might have come before: names, spelling, style. */
  readonly prompt?: string | undefined;
  /** 0 decodes greedily and falls back to sampling where that fails. */
  readonly temperature?: number | undefined;
  /** How finely the text is timed. */
  readonly timestamps?: 'segment' | 'word' | undefined;
  /** Long audio: `sequential` window after window, each led by the text before it; `fast` cuts at silences and runs all windows at once. */
  readonly mode?: 'sequential' | 'fast' | undefined;
}

export interface TextToImageInput {
  /** What to draw. */
  readonly prompt: string;
  /** What to keep out; needs guidance above 1. */
  readonly negative_prompt?: string | undefined;
  /** Pixels, a multiple of the model's size step. */
  readonly width?: number | undefined;
  /** Pixels, a multiple of the model's size step. */
  readonly height?: number | undefined;
  /** Denoising steps. */
  readonly steps?: number | undefined;
  /** Classifier-free guidance scale; at 1 or below the negative prompt is not run. */
  readonly guidance?: number | undefined;
  /** Seed of the first picture; picture i uses seed + i. Chosen at random when absent. */
  readonly seed?: number | undefined;
  readonly sampler?:
    | 'ddim'
    | 'euler'
    | 'euler_a'
    | 'dpmpp_2m'
    | 'dpmpp_2m_karras'
    | 'dpmpp_2m_sde_karras'
    | 'lcm'
    | 'pndm'
    | 'unipc'
    | undefined;
  /** How many pictures, each its own seed. */
  readonly n?: number | undefined;
  readonly output_format?: 'png' | 'webp' | 'jpeg' | undefined;
  /** Write the prompt into the file's metadata too. */
  readonly embed_prompt?: boolean | undefined;
}

export interface Timings {
  /** From the request until a worker took the job. */
  readonly queued: number;
  /** Then until its first step, less the text encoding. */
  readonly admitted: number;
  /** Encoding the prompts. */
  readonly text: number;
  /** From the first step of the first picture to the last step of the last. */
  readonly denoise: number;
  /** Turning latents into pixels, waiting for the decoder included. */
  readonly decode: number;
  /** Turning pixels into files. */
  readonly encode: number;
  /** Writing the files to the store. */
  readonly upload: number;
}

export interface Webhook {
  readonly url: string;
  readonly events: readonly string[];
}

export interface WebhookBody {
  readonly type:
    | 'job.queued'
    | 'job.started'
    | 'job.succeeded'
    | 'job.failed'
    | 'job.canceled'
    | 'job.expired';
  /** When it happened, not when it was sent. */
  readonly timestamp: string;
  readonly data: {
    readonly id: string;
    readonly object: 'job';
    readonly type: 'text-to-image' | 'speech-to-text' | 'speech-to-image' | 'workflow';
    /** `name@version` that runs the job. */
    readonly model: string;
    readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'expired';
    readonly priority: 'interactive' | 'standard' | 'bulk';
    /** Tries begun so far; a crashed worker costs one. */
    readonly attempt: number;
    readonly created_at: string;
    readonly started_at: string | null;
    readonly finished_at: string | null;
    /** When the record of a finished job is forgotten. */
    readonly expires_at: string | null;
    readonly deadline_at: string | null;
    /** While the job waits: its place in line, and when it should be done if a worker serves it. */
    readonly queue: {
      readonly position: number;
      readonly eta_ms: number | null;
    } | null;
    readonly progress: Progress | null;
    readonly input: Readonly<Record<string, unknown>>;
    readonly output: JobOutputs | null;
    readonly error: JobError | null;
    readonly metrics: JobMetrics | null;
    readonly webhook: Webhook | null;
    /** Your own labels, at most 32; handed back untouched. */
    readonly metadata: Readonly<Record<string, string>>;
    /** Of a workflow. */
    readonly nodes?: readonly NodeState[] | undefined;
    readonly links: {
      readonly self: string;
      /** Server-sent events, read with your key. */
      readonly events: string;
      /** The same for who sends no key, such as a browser; the link itself is the right, and expires. */
      readonly events_signed: string;
      readonly cancel: string;
    };
    /** Fields emptied to keep the body small; `links.self` has them. */
    readonly left_out?: readonly string[] | undefined;
  };
}

export interface WebhookRequest {
  /** An https URL that the public Internet can reach, on port 443, without a user name. */
  readonly url: string;
  /** What to be told of. Absent: the end, whichever it is. */
  readonly events?:
    | readonly (
        | 'job.queued'
        | 'job.started'
        | 'job.succeeded'
        | 'job.failed'
        | 'job.canceled'
        | 'job.expired'
      )[]
    | undefined;
}

export interface Word {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

export interface WorkflowTimings {
  /** Until the first node started. */
  readonly queued: number;
  /** From then until the last node had ended. */
  readonly nodes: number;
}

export type JobEvent =
  | {
      readonly type: 'job.queued';
      readonly timestamp: string;
      readonly data: {
        readonly id: string;
        readonly status: 'queued';
      };
    }
  | {
      readonly type: 'job.started';
      readonly timestamp: string;
      readonly data: {
        readonly id: string;
        readonly status: 'running';
      };
    }
  | {
      readonly type: 'job.progress';
      readonly timestamp: string;
      readonly data: {
        readonly id: string;
        readonly fraction: number;
        readonly stage: 'text' | 'denoise' | 'decode' | 'upload' | 'audio' | 'transcribe' | 'nodes';
        readonly step: number;
        readonly steps: number;
      };
    }
  | {
      readonly type: 'job.preview';
      readonly timestamp: string;
      readonly data: Preview;
    }
  | {
      readonly type: 'job.output';
      readonly timestamp: string;
      readonly data: {
        readonly id: string;
        /** What is new of it; all of them joined are the whole text. */
        readonly text: string;
        /** Characters that came before. It falls back when a lost worker has the job begun anew. */
        readonly offset: number;
      };
    }
  | {
      readonly type: 'job.succeeded';
      readonly timestamp: string;
      readonly data: Job;
    }
  | {
      readonly type: 'job.failed';
      readonly timestamp: string;
      readonly data: Job;
    }
  | {
      readonly type: 'job.canceled';
      readonly timestamp: string;
      readonly data: Job;
    }
  | {
      readonly type: 'job.expired';
      readonly timestamp: string;
      readonly data: Job;
    };

export type JobRequest =
  | {
      readonly type: 'text-to-image';
      /** `name` or `name@version`. Absent: the default model of the task. */
      readonly model?: string | undefined;
      readonly input: TextToImageInput;
      /** Jobs of a more urgent class always go first. */
      readonly priority?: 'interactive' | 'standard' | 'bulk' | undefined;
      /** Seconds from now after which the result is worth nothing: the job then ends as `expired`. */
      readonly deadline_s?: number | undefined;
      readonly webhook?: WebhookRequest | undefined;
      /** Your own labels, at most 32; handed back untouched. */
      readonly metadata?: Readonly<Record<string, string>> | undefined;
    }
  | {
      readonly type: 'speech-to-text';
      /** `name` or `name@version`. Absent: the default model of the task. */
      readonly model?: string | undefined;
      readonly input: SpeechToTextInput;
      /** Jobs of a more urgent class always go first. */
      readonly priority?: 'interactive' | 'standard' | 'bulk' | undefined;
      /** Seconds from now after which the result is worth nothing: the job then ends as `expired`. */
      readonly deadline_s?: number | undefined;
      readonly webhook?: WebhookRequest | undefined;
      /** Your own labels, at most 32; handed back untouched. */
      readonly metadata?: Readonly<Record<string, string>> | undefined;
    }
  | {
      readonly type: 'speech-to-image';
      /** Whisper and diffusion model joined by `+`; either may be left out. */
      readonly model?: string | undefined;
      readonly input: SpeechToImageInput;
      /** Jobs of a more urgent class always go first. */
      readonly priority?: 'interactive' | 'standard' | 'bulk' | undefined;
      /** Seconds from now after which the result is worth nothing: the job then ends as `expired`. */
      readonly deadline_s?: number | undefined;
      readonly webhook?: WebhookRequest | undefined;
      /** Your own labels, at most 32; handed back untouched. */
      readonly metadata?: Readonly<Record<string, string>> | undefined;
    }
  | {
      /** `graph` is the older name of `workflow`. */
      readonly type: 'workflow';
      readonly nodes: readonly WorkflowNode[];
      /** Jobs of a more urgent class always go first. */
      readonly priority?: 'interactive' | 'standard' | 'bulk' | undefined;
      /** Seconds from now after which the result is worth nothing: the job then ends as `expired`. */
      readonly deadline_s?: number | undefined;
      readonly webhook?: WebhookRequest | undefined;
      /** Your own labels, at most 32; handed back untouched. */
      readonly metadata?: Readonly<Record<string, string>> | undefined;
    };

export type Model =
  | {
      readonly id: string;
      readonly object: 'model';
      /** Unix seconds: when the list of models was last changed. */
      readonly created: number;
      readonly owned_by: 'lehr';
      /** Runs the jobs of its task that name no model. */
      readonly default: boolean;
      readonly versions: readonly {
        readonly version: string;
        /** Share of the jobs that name no version. */
        readonly weight: number;
      }[];
      readonly task: 'text-to-image';
      readonly defaults: {
        readonly width: number;
        readonly height: number;
        readonly steps: number;
        readonly guidance: number;
        readonly sampler:
          | 'ddim'
          | 'euler'
          | 'euler_a'
          | 'dpmpp_2m'
          | 'dpmpp_2m_karras'
          | 'dpmpp_2m_sde_karras'
          | 'lcm'
          | 'pndm'
          | 'unipc';
      };
      readonly limits: {
        readonly min_size: number;
        readonly max_size: number;
        /** Width and height are multiples of this. */
        readonly size_step: number;
        readonly max_pixels: number;
        readonly max_steps: number;
        readonly max_samples: number;
        /** Width x height x pictures x steps of one job. */
        readonly max_work: number;
      };
      readonly samplers: readonly (
        | 'ddim'
        | 'euler'
        | 'euler_a'
        | 'dpmpp_2m'
        | 'dpmpp_2m_karras'
        | 'dpmpp_2m_sde_karras'
        | 'lcm'
        | 'pndm'
        | 'unipc'
      )[];
    }
  | {
      readonly id: string;
      readonly object: 'model';
      /** Unix seconds: when the list of models was last changed. */
      readonly created: number;
      readonly owned_by: 'lehr';
      /** Runs the jobs of its task that name no model. */
      readonly default: boolean;
      readonly versions: readonly {
        readonly version: string;
        /** Share of the jobs that name no version. */
        readonly weight: number;
      }[];
      readonly task: 'speech-to-text';
      readonly limits: {
        /** Seconds of one file, decoded. */
        readonly max_audio_s: number;
      };
    };

export type WorkflowNode =
  | {
      /** Other nodes refer to it by this name. */
      readonly id: string;
      readonly model?: string | undefined;
      readonly type: 'text-to-image';
      readonly input: TextToImageInput;
    }
  | {
      /** Other nodes refer to it by this name. */
      readonly id: string;
      readonly model?: string | undefined;
      readonly type: 'speech-to-text';
      readonly input: SpeechToTextInput;
    };
