/** Branded ids: a string of one kind cannot be passed where another is wanted. */
import { hash, randomInt } from 'node:crypto';
import { decodeTime, encodeTime, monotonicFactory, ulid } from 'ulid';
import { z } from 'zod';

declare const brand: unique symbol;
type Brand<Name extends string> = string & { readonly [brand]: Name };

/** `job_` and a ULID in lower case: sorts by the time it was made, and its tail is a legal Replicate id. */
export type JobId = Brand<'JobId'>;
/** `file_` and a ULID in lower case: a file that a caller uploaded. */
export type FileId = Brand<'FileId'>;
/** `batch_` and a ULID in lower case. */
export type BatchId = Brand<'BatchId'>;
export type WorkerId = Brand<'WorkerId'>;
/** Proves that its holder owns a claimed job (BullMQ's lock token). */
export type LeaseToken = Brand<'LeaseToken'>;
export type ObjectKey = Brand<'ObjectKey'>;
export type TenantId = Brand<'TenantId'>;

const JOB_ID = /^job_[0-9a-hjkmnp-tv-z]{26}$/;
const FILE_ID = /^file_[0-9a-hjkmnp-tv-z]{26}$/;
const BATCH_ID = /^batch_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const OBJECT_KEY = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[A-Za-z0-9._-]{1,200}(?:\/[A-Za-z0-9._-]{1,200})*$/;

// randomInt reads from a pool; ulid's own source makes a system call for each of its 16 characters.
const nextUlid = monotonicFactory(() => randomInt(2 ** 32) / 2 ** 32);

/** Later ids of one process are always greater, also within a millisecond. */
export const newJobId = (): JobId => `job_${nextUlid().toLowerCase()}` as JobId;
export const newWorkerId = (host: string): WorkerId =>
  `${host.toLowerCase().replace(/[^a-z0-9-]/g, '-')}-${ulid().slice(-8).toLowerCase()}` as WorkerId;
export const newLeaseToken = (worker: WorkerId): LeaseToken =>
  `${worker}.${nextUlid().toLowerCase()}` as LeaseToken;

export const newFileId = (): FileId => `file_${nextUlid().toLowerCase()}` as FileId;

export const newBatchId = (): BatchId => `batch_${nextUlid().toLowerCase()}` as BatchId;

/** 32 digits, of which ULIDs are made. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const LINE_DIGITS = 4;
const NAME_DIGITS = 12;

/**
 * The ids of the jobs of the lines of a slice of a batch: the same whenever they are asked for, so that no line gets a second job. They have
 * the time at which the slice began, and are in the order of its lines.
 */
export function jobIdsOfSlice(batch: BatchId, at: number): (line: number) => JobId {
  const [start, end] = [`job_${encodeTime(at).toLowerCase()}`, digitsOf(batch, NAME_DIGITS)];
  return (line) => {
    let number = '';
    for (let rest = line; number.length < LINE_DIGITS; rest = Math.floor(rest / DIGITS.length))
      number = DIGITS[rest % DIGITS.length] + number;
    return `${start}${number}${end}` as JobId;
  };
}

export const newScheduleId = (): string => `schedule_${nextUlid().toLowerCase()}`;

/** The id of the job of a schedule at one of its times: the same in every process, so that no time has two jobs. */
export const jobIdOfTick = (schedule: string, at: number): JobId =>
  `job_${encodeTime(at).toLowerCase()}${digitsOf(`${schedule} ${at}`, LINE_DIGITS + NAME_DIGITS)}` as JobId;

/** `bulk_` and a ULID in lower case. */
export const newJobActionId = (): string => `bulk_${nextUlid().toLowerCase()}`;

/** Greater than the ids of all jobs that this process has made before the action, and less than those of later ones. It is no job. */
export const jobIdOfAction = (action: string): JobId => `job_${action.slice('bulk_'.length)}` as JobId;

/** An id of a file that is a function of the batch. */
export const fileIdOfBatch = (batch: BatchId, name: string): FileId =>
  `file_${encodeTime(timeOfId(batch)).toLowerCase()}${digitsOf(`${batch} ${name}`, LINE_DIGITS + NAME_DIGITS)}` as FileId;

/** The name of a folder of a batch, in the form of a batch's id and with another time. */
export const batchFolderName = (batch: BatchId, at: number): string =>
  `batch_${encodeTime(at).toLowerCase()}${batch.slice(-(LINE_DIGITS + NAME_DIGITS))}`;

const digitsOf = (text: string, count: number): string =>
  [...hash('sha256', text, 'buffer').subarray(0, count)].map((byte) => DIGITS[byte % DIGITS.length]).join('');

export const isBatchId = (value: string): value is BatchId => BATCH_ID.test(value);
export const isFileId = (value: string): value is FileId => FILE_ID.test(value);
export const isJobId = (value: string): value is JobId => JOB_ID.test(value);
export const JobIdSchema = z.custom<JobId>(
  (value) => typeof value === 'string' && isJobId(value),
  'not a job id',
);

export const DEFAULT_TENANT = 'default' as TenantId;

/** Less than the id of every job that was made at `ms` (Unix) or later. It is no id. */
export const firstJobIdAt = (ms: number): string => `job_${encodeTime(Math.max(0, ms)).toLowerCase()}`;

/** When the id of a job or file was made, Unix ms. */
export const timeOfId = (id: string): number => decodeTime(id.slice(id.indexOf('_') + 1).toUpperCase());

/** A job owns all objects whose keys begin with these two, and no other: they go with it. Files that callers uploaded belong to no job. */
export const inputFolder = (tenant: TenantId, job: JobId): string => `in/${tenant}/${job}/`;
export const outputFolder = (tenant: TenantId, job: JobId): string => `out/${tenant}/${job}/`;

/** Throws for every text that could lead outside the store's folder. */
export function toObjectKey(value: string): ObjectKey {
  if (value.length > 512 || !OBJECT_KEY.test(value)) {
    throw new Error(
      `Not an object key: ${JSON.stringify(value)}. Wanted segments of up to 200 A-Z a-z 0-9 . _ - joined by "/".`,
    );
  }
  return value as ObjectKey;
}
