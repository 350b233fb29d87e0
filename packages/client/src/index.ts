export type { FollowedEvent, FollowOptions } from './follow.ts';
export {
  isOver,
  Lehr,
  type LehrOptions,
  type ListOptions,
  type PageOptions,
  type SubmitOptions,
  type SucceededJob,
  type UploadOptions,
  type WaitOptions,
} from './lehr.ts';
export { type FieldProblem, LehrError, type LehrErrorCode } from './lehr-error.ts';
export type { CallOptions } from './transport.ts';
export { verifyWebhook } from './webhook.ts';
export type {
  File as UploadedFile,
  Image,
  Job,
  JobError,
  JobEvent,
  JobList,
  JobMetrics,
  JobOutputs,
  JobRequest,
  Key,
  KeyLimits,
  KeyRequest,
  Model,
  NewKey,
  NodeState,
  Preview,
  Progress,
  Queue,
  QueueList,
  Segment,
  SpeechToImageInput,
  SpeechToTextInput,
  TextToImageInput,
  WebhookBody,
  WebhookRequest,
  Word,
} from './wire.ts';
