/** Roles that pods get by their service accounts (IRSA): what the API and the workers do in their bucket, and no more. */
import { CfnJson, CfnOutput, Fn } from 'aws-cdk-lib';
import { FederatedPrincipal, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { BUCKET_ACTIONS, HEALTH, OBJECT_ACTIONS, OUTPUTS, STORE_ID, UPLOADS } from './s3-actions.ts';

/** Who vouches for service accounts. */
export interface Issuer {
  /** With https://. Known when the cluster exists, else only at the deployment. */
  readonly url: string;
  readonly arn: string;
}

/** A role for one service account and for no other. */
export class AccountRole extends Construct {
  readonly role: Role;

  constructor(scope: Construct, id: string, issuer: Issuer, namespace: string, account: string) {
    super(scope, id);
    const host = Fn.select(1, Fn.split('//', issuer.url));
    // A key of the condition contains the host of the issuer, which may be known only at the deployment.
    const condition = new CfnJson(this, 'Condition', {
      value: {
        [`${host}:sub`]: `system:serviceaccount:${namespace}:${account}`,
        [`${host}:aud`]: 'sts.amazonaws.com',
      },
    });
    this.role = new Role(this, 'Role', {
      description: `The service account ${account} of the namespace ${namespace}`,
      assumedBy: new FederatedPrincipal(
        issuer.arn,
        { StringEquals: condition },
        'sts:AssumeRoleWithWebIdentity',
      ),
    });
  }
}

export function makeStoreRoles(scope: Construct, issuer: Issuer, namespace: string, bucket: IBucket): void {
  const at = (...keys: readonly string[]): string[] => keys.map((key) => bucket.arnForObjects(key));
  const list = (role: Role, prefixes: readonly string[]): void => {
    role.addToPolicy(
      new PolicyStatement({
        actions: [...BUCKET_ACTIONS],
        resources: [bucket.bucketArn],
        conditions: { StringLike: { 's3:prefix': [...prefixes] } },
      }),
    );
  };
  const api = new AccountRole(scope, 'Api', issuer, namespace, 'lehr-api').role;
  api.addToPolicy(
    new PolicyStatement({ actions: [...OBJECT_ACTIONS], resources: at(UPLOADS, OUTPUTS, HEALTH, STORE_ID) }),
  );
  // It lists tenants and expired objects from the top of in/ and out/.
  list(api, ['in/*', 'out/*', 'in/', 'out/', 'lehr-store/*', '']);
  const worker = new AccountRole(scope, 'Worker', issuer, namespace, 'lehr-worker').role;
  // It reads uploads, and writes and removes outputs and checkpoints.
  worker.addToPolicy(
    new PolicyStatement({ actions: ['s3:GetObject'], resources: at(UPLOADS, OUTPUTS, STORE_ID) }),
  );
  worker.addToPolicy(
    new PolicyStatement({
      actions: ['s3:DeleteObject', 's3:PutObject'],
      resources: at(OUTPUTS, HEALTH, STORE_ID),
    }),
  );
  list(worker, ['in/*', 'out/*', 'lehr-store/*', '']);
  new CfnOutput(scope, 'ApiRoleArn', {
    value: api.roleArn,
    description: 'Chart: accountAnnotations.api, eks.amazonaws.com/role-arn',
  });
  new CfnOutput(scope, 'WorkerRoleArn', {
    value: worker.roleArn,
    description: 'Chart: accountAnnotations.worker, eks.amazonaws.com/role-arn',
  });
}
