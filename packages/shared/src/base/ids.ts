/** Branded ids: a string of one kind cannot be passed where another is wanted. */
import { randomInt } from 'node:crypto';
import { decodeTime, encodeTime, monotonicFactory, ulid } from 'ulid';
import { z } from 'zod';

declare const brand: unique symbol;
type Brand<Name extends string> = string & { readonly [brand]: Name };

/** `job_` and a ULID in lower case: sorts by the time it was made, and its tail is a legal Replicate id. */
export type JobId = Brand<'JobId'>;
/** `file_` and a ULID in lower case: a file that a caller uploaded. */
export type FileId = Brand<'FileId'>;
export type WorkerId = Brand<'WorkerId'>;
/** Proves that its holder owns a claimed job (BullMQ's lock token). */
export type LeaseToken = Brand<'LeaseToken'>;
export type ObjectKey = Brand<'ObjectKey'>;
export type TenantId = Brand<'TenantId'>;

const JOB_ID = /^job_[0-9a-hjkmnp-tv-z]{26}$/;
const FILE_ID = /^file_[0-9a-hjkmnp-tv-z]{26}$/;
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

export const isFileId = (value: string): value is FileId => FILE_ID.test(value);
export const isJobId = (value: string): value is JobId => JOB_ID.test(value);
export const JobIdSchema = z.custom<JobId>(
  (value) => typeof value === 'string' && isJobId(value),
  'not a job id',
);

export const DEFAULT_TENANT = 'default' as TenantId;

/** Less than the id of every job that was made at `ms` (Unix) or later. It is no id. */
export const firstJobIdAt = (ms: number): string => `job_${encodeTime(ms).toLowerCase()}`;

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
