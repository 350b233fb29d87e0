/** The bucket of inputs and outputs, and one for backups of Redis. */
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type BucketProps,
  ObjectOwnership,
} from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import type { Settings } from './settings.ts';

const GUARDED = {
  encryption: BucketEncryption.S3_MANAGED,
  blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
  objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
  enforceSSL: true,
  minimumTLSVersion: 1.2,
  removalPolicy: RemovalPolicy.RETAIN,
} satisfies BucketProps;

/** Lehr deletes what has expired within the hour. The lifecycle is later: it finds only what Lehr could not delete. */
const SPARE_DAYS = 2;

export interface Buckets {
  readonly objects: Bucket;
  readonly backups: Bucket;
}

export function makeBuckets(scope: Construct, { outputTtlHours, backupDays }: Settings): Buckets {
  const expiration = Duration.days(Math.ceil(outputTtlHours / 24) + SPARE_DAYS);
  const unfinished = { abortIncompleteMultipartUploadAfter: Duration.days(1) };
  const objects = new Bucket(scope, 'Objects', {
    ...GUARDED,
    lifecycleRules: [
      { id: 'uploads', prefix: 'in/', expiration },
      { id: 'outputs', prefix: 'out/', expiration },
      { id: 'unfinished', ...unfinished },
    ],
  });
  const backups = new Bucket(scope, 'Backups', {
    ...GUARDED,
    versioned: true,
    lifecycleRules: [
      {
        id: 'backups',
        expiration: Duration.days(backupDays),
        noncurrentVersionExpiration: Duration.days(7),
        ...unfinished,
      },
    ],
  });
  return { objects, backups };
}
