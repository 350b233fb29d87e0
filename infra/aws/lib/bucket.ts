/** The bucket of inputs and outputs. */
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/** Lehr deletes what has expired within the hour. The lifecycle is later: it finds only what Lehr could not delete. */
const SPARE_DAYS = 2;

export function makeBucket(scope: Construct, { outputTtlHours }: Settings): Bucket {
  const expiration = Duration.days(Math.ceil(outputTtlHours / 24) + SPARE_DAYS);
  return new Bucket(scope, 'Objects', {
    encryption: BucketEncryption.S3_MANAGED,
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    removalPolicy: RemovalPolicy.RETAIN,
    lifecycleRules: [
      { id: 'uploads', prefix: 'in/', expiration },
      { id: 'outputs', prefix: 'out/', expiration },
      { id: 'unfinished', abortIncompleteMultipartUploadAfter: Duration.days(1) },
    ],
  });
}
