/** Every sentence and label of the studio, in English. */
import { admin } from './admin.ts';
import { belt } from './belt.ts';
import { charts } from './charts.ts';
import { compare } from './compare.ts';
import { edit, upscale } from './edit.ts';
import { adapters, control } from './guides.ts';
import { job } from './job.ts';
import { planned } from './planned.ts';
import { rollouts } from './rollouts.ts';

const seconds = (value: number): string => {
  if (value < 1) return 'less than a second';
  if (value < 90) return `${Math.round(value)} s`;
  return `${Math.round(value / 60)} min`;
};

/** How long a prompt is. */
export interface PromptLength {
  readonly tokens: number;
  readonly chunks: number;
  /** What the model reads at once. */
  readonly read: number;
  readonly isExact: boolean;
  readonly isCut: boolean;
}

export const en = {
  name: 'Lehr',
  nav: {
    label: 'Views',
    make: 'Make',
    speak: 'Speak',
    compare: 'Compare',
    gallery: 'Gallery',
    belt: 'Belt',
    charts: 'Charts',
    admin: 'Admin',
    api: 'API reference',
  },
  theme: { label: 'Theme', auto: 'System', light: 'Light', dark: 'Dark' },
  account: {
    label: 'Account',
    signedIn: (tenant: string) => `Signed in to ${tenant}`,
    key: (id: string) => `with key ${id}`,
    signOut: 'Sign out',
    signOutEverywhere: 'Sign out everywhere',
  },
  signIn: {
    title: 'Sign in',
    lead: 'Pictures from words, words from speech, on your own machines.',
    key: 'API key',
    hint: 'On this machine, npm start prints a link that signs in by itself.',
    button: 'Sign in',
    busy: 'Signing in …',
    ended: 'Your session has ended. Sign in again.',
    unreachable: 'The server does not answer. Try again in a moment.',
  },
  faults: {
    unexpected: 'Something went wrong on this page. Reload it.',
    unreachable: 'The server does not answer. Your input is still here; try again.',
    again: (wait: number) => `Try again in ${seconds(wait)}.`,
    noAccess: 'This key may not do that.',
  },
  notFound: {
    title: 'Nothing here',
    text: 'This address leads to no page of the studio.',
    back: 'Make a picture',
  },
  copied: 'Copied',
  showAll: 'Show all',
  showLess: 'Show less',
  seconds,
  status: {
    scheduled: 'Scheduled',
    queued: 'Waiting',
    running: 'Running',
    succeeded: 'Done',
    failed: 'Failed',
    canceled: 'Canceled',
    expired: 'Expired',
  },
  make: {
    title: 'Make a picture',
    prompt: 'Prompt',
    promptHint: 'What should the picture show?',
    negative: 'Without',
    negativeHint: 'What should it not show?',
    history: 'Earlier prompts',
    tokens: ({ tokens, chunks, read, isExact, isCut }: PromptLength) => {
      const count = `${isExact ? '' : 'About '}${tokens}`;
      if (isCut) return `${count} tokens. The model reads the first ${read}.`;
      return chunks > 1 ? `${count} tokens in ${chunks} chunks` : `${count} of ${read} tokens`;
    },
    syntax: 'Brackets in the prompts',
    syntaxes: { plain: 'are text like the rest', weighted: 'weigh words: (more:1.3), [less]' },
    button: 'Make',
    again: 'Make another',
    cancel: 'Cancel',
    canceling: 'Canceling …',
    model: 'Model',
    needs: {
      picture: (id: string) => `${id} (changes a picture)`,
      part: (id: string) => `${id} (changes a part of a picture)`,
    },
    version: 'Version',
    anyVersion: 'By share',
    size: 'Size',
    shapes: { square: 'Square', portrait: 'Portrait', landscape: 'Landscape' },
    sizeOf: (width: number, height: number) => `${width} × ${height}`,
    steps: 'Steps',
    guidance: 'Guidance',
    sampler: 'Sampler',
    count: 'Pictures',
    seed: 'Seed',
    seedRandom: 'random',
    dice: 'New random seed',
    lock: 'Keep this seed',
    unlock: 'Choose a seed at random each time',
    more: 'More settings',
    keys: 'Ctrl Enter makes · Esc cancels · / to the prompt · D throws the dice',
    emptyTitle: 'Your picture appears here',
    emptyText: 'Write a prompt, drop a picture to change it, or begin with one of these:',
    examples: [
      'a red circle on a blue background',
      'two green stars above a yellow square',
      'a purple triangle on a white background',
    ],
    place: (position: number) => (position === 1 ? 'Next in line' : `Number ${position} in line`),
    waiting: 'Waiting for a worker',
    scheduled: (time: string) => `Scheduled for ${time}`,
    stages: {
      text: 'Reading the prompt',
      denoise: 'Drawing',
      decode: 'Turning into pixels',
      upload: 'Saving',
      audio: 'Decoding the sound',
      transcribe: 'Listening',
      transform: 'Transforming',
      nodes: 'Working',
    },
    step: (step: number, steps: number) => `step ${step} of ${steps}`,
    left: (value: number) => `${seconds(value)} left`,
    lost: 'Connection lost; the job continues. Reconnecting …',
    followedNoMore:
      'This job can no longer be followed. It may have been deleted, or its record has expired.',
    done: (took: number) => `Done in ${seconds(took)}`,
    ended: { canceled: 'Canceled.', expired: 'The job ran out of time.' },
    pictureOf: (prompt: string) => `Picture of: ${prompt}`,
    previewOf: (prompt: string) => `Unfinished picture of: ${prompt}`,
    gone: 'This picture has expired.',
    noModel: 'No model that draws is installed.',
  },
  result: {
    label: 'Result',
    download: 'Download',
    copyLink: 'Copy link',
    linkCopied: 'Link copied. It works for 15 minutes.',
    sameSeed: 'Again with this seed',
    vary: 'Vary',
    open: 'Job page',
    parameters: 'Parameters',
    cut: (text: string, read: number, tokens: number | undefined) =>
      `The model read ${tokens === undefined ? `the first ${read}` : `${read} of ${tokens}`} tokens of ${text}. The rest was left out.`,
    cutPrompt: 'the prompt',
    cutNegative: 'what the picture should not show',
  },
  speak: {
    title: 'Speak',
    lead: 'Hold the button or the space bar and talk. Or drop a recording.',
    hold: 'Hold to talk',
    recording: 'Listening …',
    starting: 'Starting the microphone …',
    level: 'Level of the microphone',
    drop: 'Drop a sound file here, or',
    choose: 'choose one',
    uploading: 'Sending …',
    waiting: 'Waiting for a worker',
    transcript: 'Transcript',
    segments: 'Segments',
    jumpTo: (time: string) => `Play from ${time}`,
    download: 'Download as',
    picture: 'Make the picture of these words',
    another: 'Record again',
    silence: 'No words were heard.',
    refused: 'The browser does not allow the microphone. Allow it for this page, or drop a file.',
    noMicrophone: 'There is no microphone. Drop a file instead.',
    busy: 'The recording before is still being sent. Try again in a moment.',
    tooShort: 'That was too short. Hold the button while you talk.',
    player: 'The recording',
    edit: 'Correct the words',
    edited: 'Done correcting',
    correct: (time: string) => `Words at ${time}`,
    stop: 'Stop',
  },
  gallery: {
    title: 'Gallery',
    search: 'Search prompts',
    status: 'State',
    type: 'Kind',
    any: 'All',
    types: {
      'text-to-image': 'Pictures',
      'speech-to-text': 'Transcripts',
      'speech-to-image': 'Spoken pictures',
      'text-embedding': 'Embeddings',
      'text-classification': 'Classifications',
      'fill-mask': 'Filled masks',
      'token-classification': 'Entities',
      'picture-transform': 'Transformed pictures',
      workflow: 'Workflows',
    },
    recording: 'A recording',
    empty: 'Nothing here yet.',
    emptyAction: 'Make the first picture',
    noMatch: 'None of your jobs matches.',
    shown: (count: number) => (count === 1 ? '1 job' : `${count} jobs`),
    loading: 'Loading …',
    tryAgain: 'Try again',
    end: 'That is all.',
    delete: 'Delete',
    deleteAsk: (count: number) =>
      count === 1 ? 'Delete this job and its outputs?' : `Delete ${count} jobs and their outputs?`,
    select: (title: string) => `Select: ${title}`,
    selection: 'Selected jobs',
    selected: (count: number) => (count === 1 ? '1 job selected' : `${count} jobs selected`),
    selectAll: (count: number) => `Select all ${count}`,
    selectNone: 'Clear',
    zip: {
      action: 'Download as zip',
      name: 'lehr.zip',
      list: 'jobs.json',
      progress: (done: number, of: number) => `Packing job ${done + 1} of ${of} …`,
      missing: (count: number) =>
        count === 1
          ? '1 output has expired and is left out.'
          : `${count} outputs have expired and are left out.`,
    },
    deleteYes: 'Delete',
    deleteNo: 'Keep',
    expired: 'Expired',
    more: (count: number) => `+${count}`,
  },
  admin,
  planned,
  rollouts,
  belt,
  compare,
  edit,
  upscale,
  adapters,
  control,
  charts,
  textJob: {
    results: 'Results',
    score: (share: number) => `${Math.round(share * 100)} %`,
    embedding: (dimensions: number) => `A vector of ${dimensions} numbers`,
    count: (count: number) => `${count} texts`,
    tokens: (count: number) => `${count} tokens`,
    nothing: 'Nothing found',
    more: (count: number) => `and ${count} more`,
  },
  job,
} as const;
