/**
 * What Lehr does in its bucket; test/infra/aws.test.ts compares it with the code. Keys: uploads below in/, outputs and checkpoints below
 * out/, one object that readiness checks write and delete, and the id of the store.
 */
export const OBJECT_ACTIONS = ['s3:DeleteObject', 's3:GetObject', 's3:PutObject'] as const;
/** Without it, S3 answers 403 for an object that does not exist. */
export const BUCKET_ACTIONS = ['s3:ListBucket'] as const;

export const UPLOADS = 'in/*';
export const OUTPUTS = 'out/*';
export const HEALTH = 'lehr-health/probe';
export const STORE_ID = 'lehr-store/*';
