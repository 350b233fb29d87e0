/** Names for the types of requests and answers. The types themselves are in openapi.ts. */
import type { components, operations } from './openapi.ts';

type Schemas = components['schemas'];

export type Activity = Schemas['Activity'];
export type AuditEntry = Schemas['AuditEntry'];
export type Batch = Schemas['Batch'];
export type BatchList = Schemas['BatchList'];
export type BatchRequest = Schemas['BatchRequest'];
export type Chart = Schemas['Chart'];
export type ChartList = Schemas['ChartList'];
export type DeadLetters = Schemas['DeadLetters'];
export type Delivery = Schemas['Delivery'];
export type DeliveryLog = Schemas['DeliveryLog'];
export type Entity = Schemas['Entity'];
export type File = Schemas['File'];
export type Fill = Schemas['Fill'];
export type FillMaskInput = Schemas['FillMaskInput'];
export type Image = Schemas['Image'];
export type Job = Schemas['Job'];
export type JobEvent = Schemas['JobEvent'];
export type JobList = Schemas['JobList'];
export type JobRequest = Schemas['JobRequest'];
export type Key = Schemas['Key'];
export type KeyChange = Schemas['KeyChange'];
export type KeyLimits = Schemas['KeyLimits'];
export type KeyRequest = Schemas['KeyRequest'];
export type LabelScore = Schemas['LabelScore'];
export type Model = Schemas['Model'];
export type NewKey = Schemas['NewKey'];
export type NodeState = Schemas['NodeState'];
export type Preview = Schemas['Preview'];
export type Problem = Schemas['Problem'];
export type Queue = Schemas['Queue'];
export type QueueList = Schemas['QueueList'];
export type Rollout = Schemas['Rollout'];
export type RolloutChange = Schemas['RolloutChange'];
export type RolloutRequest = Schemas['RolloutRequest'];
export type Segment = Schemas['Segment'];
export type Setting = Schemas['SettingList']['data'][number];
export type SpeechToImageInput = Schemas['SpeechToImageInput'];
export type SpeechToTextInput = Schemas['SpeechToTextInput'];
export type TextClassificationInput = Schemas['TextClassificationInput'];
export type TextEmbeddingInput = Schemas['TextEmbeddingInput'];
export type TextPair = Schemas['TextPair'];
export type TextToImageInput = Schemas['TextToImageInput'];
export type Pause = Schemas['Pause'];
export type PauseRequest = Schemas['PauseRequest'];
export type JobAction = Schemas['JobAction'];
export type JobActionCount = Schemas['JobActionCount'];
export type JobActionRequest = Schemas['JobActionRequest'];
export type Schedule = Schemas['Schedule'];
export type ScheduleChange = Schemas['ScheduleChange'];
export type ScheduleRequest = Schemas['ScheduleRequest'];
export type PictureTransformInput = Schemas['PictureTransformInput'];
export type TokenClassificationInput = Schemas['TokenClassificationInput'];
export type Traffic = Schemas['Traffic'];
export type Usage = Schemas['Usage'];
export type BatchEstimate = Schemas['BatchEstimate'];
export type BatchLine = Schemas['BatchLine'];
export type BatchLineList = Schemas['BatchLineList'];
export type BatchEvent = Schemas['BatchEvent'];
export type BatchWebhookBody = Schemas['BatchWebhookBody'];
export type WebhookBody = Schemas['WebhookBody'];
export type WebhookRequest = Schemas['WebhookRequest'];
export type Word = Schemas['Word'];

// The document allows null wherever these four are used; their names stand for the value without null.
export type JobError = NonNullable<Schemas['JobError']>;
export type JobMetrics = NonNullable<Schemas['JobMetrics']>;
export type JobOutputs = NonNullable<Schemas['JobOutputs']>;
export type Progress = NonNullable<Schemas['Progress']>;

type ListQuery = NonNullable<operations['listJobs']['parameters']['query']>;
/** Callers that compile with exactOptionalPropertyTypes may pass undefined. */
export type JobFilter = { readonly [Name in keyof ListQuery]?: ListQuery[Name] | undefined };

type ChartQuery = NonNullable<operations['getCharts']['parameters']['query']>;
export type ChartFilter = { readonly [Name in keyof ChartQuery]?: ChartQuery[Name] | undefined };

type UsageQuery = Omit<NonNullable<operations['getUsage']['parameters']['query']>, 'format'>;
export type UsageFilter = { readonly [Name in keyof UsageQuery]?: UsageQuery[Name] | undefined };

type AuditQuery = NonNullable<operations['listAuditEntries']['parameters']['query']>;
export type AuditFilter = { readonly [Name in keyof AuditQuery]?: AuditQuery[Name] | undefined };
