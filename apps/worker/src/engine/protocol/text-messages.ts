/** The messages of text models between the worker and its engine. */
import type { TextJobType } from '@lehr/shared';
import type { SampleId } from './samples.ts';

/** What the worker must know of an open text model. */
export interface TextAbilities {
  readonly types: readonly TextJobType[];
  /** The most tokens of a text, special tokens included. */
  readonly maxTokens: number;
}

/** A label of a text, or of a token. */
export interface Label {
  readonly label: string;
  readonly score: number;
}

export interface TextEntity {
  readonly label: string;
  readonly score: number;
  readonly word: string;
  /** In Unicode code points. */
  readonly start: number;
  readonly end: number;
}

/** What stands in place of a mask. */
export interface Filling {
  readonly score: number;
  readonly token: number;
  readonly token_str: string;
  /** The text with this token. Its other masks stay. */
  readonly sequence: string;
}

/** The answers to the texts of a sample, in their order. */
export type TextAnswers =
  /** `values`: `[texts, dimensions]`, row-major. */
  | { readonly type: 'text-embedding'; readonly values: Float32Array; readonly dimensions: number }
  | { readonly type: 'text-classification'; readonly labels: readonly (readonly Label[])[] }
  /** By text, then by mask. */
  | { readonly type: 'fill-mask'; readonly fills: readonly (readonly (readonly Filling[])[])[] }
  | { readonly type: 'token-classification'; readonly entities: readonly (readonly TextEntity[])[] };

/** All texts of a sample are answered. */
export interface AnsweredMessage {
  readonly type: 'answered';
  readonly sample: SampleId;
  readonly answers: TextAnswers;
  /** Of all its texts, special tokens included and padding not. */
  readonly tokens: number;
  /** Indices of the texts that were truncated. */
  readonly truncated: readonly number[];
  /** Mean number of texts in the runs of its texts. */
  readonly batchSize: number;
  readonly timings: {
    /** How long its texts took to tokenize, ms. */
    readonly tokenizeMs: number;
    /** When its first run began and its last one ended: ms since the sample arrived. */
    readonly startedAt: number;
    readonly endedAt: number;
    /** Of the runs of its texts, the share of these texts, ms. */
    readonly deviceMs: number;
  };
}

/** What the runs of a lane did since the last such message; sent a few times a second, and when the lane becomes idle. */
export interface TextProgressMessage {
  readonly type: 'text-progress';
  readonly lane: string;
  readonly runs: number;
  readonly texts: number;
  /** Tokens of the texts, and of the padding. */
  readonly tokens: number;
  readonly padding: number;
  /** Duration of the runs together. */
  readonly ms: number;
  /** Samples that have not ended, and how many of their texts are answered. */
  readonly samples: readonly { readonly id: SampleId; readonly answered: number }[];
}
