export type { FollowedEvent, FollowOptions } from './follow.ts';
export { isOver, Lehr } from './lehr.ts';
export { type FieldProblem, LehrError, type LehrErrorCode } from './lehr-error.ts';
export type {
  AuditOptions,
  LehrOptions,
  ListOptions,
  PageOptions,
  RetryOptions,
  SubmitOptions,
  SucceededJob,
  UploadOptions,
  WaitOptions,
} from './lehr-options.ts';
export type { CallOptions } from './transport.ts';
export { verifyWebhook } from './webhook.ts';
export type {
  AuditEntry,
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
