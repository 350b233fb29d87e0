/** A job that one worker does, before and after its fields are resolved. */
import type {
  FillMaskRequest,
  JobRequest,
  SpeechToTextRequest,
  TextClassificationRequest,
  TextEmbeddingRequest,
  TextToImageRequest,
  TokenClassificationRequest,
  WorkerStatus,
} from '@lehr/shared';
import type { NewJob } from '@lehr/shared/records';
import type { StoredRollout } from '../rollouts/rollout.ts';
import type { Attachment, MediaContext } from './media-input.ts';

export type ResolvedWork = Pick<NewJob, 'type' | 'model' | 'queue' | 'cost' | 'input' | 'rollout'> & {
  /** To be stored before the job is. */
  readonly attached?: Attachment | undefined;
};

/** What a job is resolved against, besides its request. */
export interface ResolveContext extends MediaContext {
  /** Whether it is a node of a workflow, so that its picture may be that of another node. */
  readonly isNode?: boolean;
  readonly fleet: readonly WorkerStatus[];
  /** Of the caller. */
  readonly keyId: string;
  /** By model. */
  readonly rollouts: ReadonlyMap<string, StoredRollout>;
}

/** A request that one worker does: no workflow. */
export type WorkRequest =
  | {
      readonly type: 'text-to-image';
      readonly model?: string | undefined;
      readonly input: TextToImageRequest;
    }
  | {
      readonly type: 'speech-to-text';
      readonly model?: string | undefined;
      readonly input: SpeechToTextRequest;
    }
  | TextRequest;

export const isWork = (request: JobRequest): request is JobRequest & WorkRequest =>
  request.type !== 'workflow' && request.type !== 'speech-to-image';

export const isTextRequest = (request: WorkRequest): request is TextRequest =>
  request.type !== 'text-to-image' && request.type !== 'speech-to-text';

interface Request<Type extends string, Input> {
  readonly type: Type;
  readonly model?: string | undefined;
  readonly input: Input;
}

export type TextRequest =
  | Request<'text-embedding', TextEmbeddingRequest>
  | Request<'text-classification', TextClassificationRequest>
  | Request<'fill-mask', FillMaskRequest>
  | Request<'token-classification', TokenClassificationRequest>;
