/** What the synthesised templates contain. No account is needed, and none was used. */
import { App } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { LehrStack } from '../lib/lehr-stack.ts';
import { accessOf } from '../lib/redis-access.ts';
import { readSettings } from '../lib/settings.ts';

const EXISTING = {
  clusterName: 'prod',
  vpcId: 'vpc-0123456789abcdef0',
  issuer: 'https://oidc.eks.eu-central-1.amazonaws.com/id/ABC',
  issuerArn: 'arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-central-1.amazonaws.com/id/ABC',
  privateSubnets: 'subnet-1,subnet-2',
  nodeSecurityGroup: 'sg-0123456789abcdef0',
};

function templateOf(context: Readonly<Record<string, unknown>> = {}): Template {
  const stack = new LehrStack(
    new App(),
    'Lehr',
    readSettings((name) => context[name]),
  );
  return Template.fromStack(stack);
}

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}
const created = templateOf();
const existing = templateOf(EXISTING);

/** The statements of all policies of the role whose id begins so. */
function statementsOf(template: Template, role: string): Statement[] {
  const policies = Object.values(template.findResources('AWS::IAM::Policy'));
  return policies
    .filter(({ Properties }) => JSON.stringify(Properties.Roles).includes(`"${role}`))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Statement[]);
}
const actionsOf = (statements: readonly Statement[]): string[] =>
  [...new Set(statements.flatMap(({ Action }) => Action))].sort();

describe.each([
  ['a new cluster', created],
  ['an existing cluster', existing],
])('With %s', (_, template) => {
  test('The bucket is encrypted, closed to the public and refuses connections without TLS', () => {
    template.resourceCountIs('AWS::S3::Bucket', 1);
    template.allResourcesProperties('AWS::S3::Bucket', {
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
      },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
    });
    template.allResourcesProperties('AWS::S3::BucketPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
        ]),
      },
    });
    template.allResources('AWS::S3::Bucket', { DeletionPolicy: 'Retain' });
  });

  test('The lifecycle deletes outputs and uploads after Lehr would have', () => {
    const rule = (prefix: string) => Match.objectLike({ Prefix: prefix, ExpirationInDays: 9 });
    template.hasResourceProperties('AWS::S3::Bucket', {
      LifecycleConfiguration: { Rules: Match.arrayWith([rule('in/'), rule('out/')]) },
    });
  });

  test('Redis evicts nothing, needs TLS and a password, is encrypted, and is reached by the nodes only', () => {
    template.hasResourceProperties('AWS::ElastiCache::ParameterGroup', {
      Properties: { 'maxmemory-policy': 'noeviction', 'hash-max-listpack-value': '1024' },
    });
    template.hasResourceProperties('AWS::ElastiCache::ReplicationGroup', {
      TransitEncryptionEnabled: true,
      TransitEncryptionMode: 'required',
      AtRestEncryptionEnabled: true,
      AutomaticFailoverEnabled: true,
      NumNodeGroups: 1,
      SnapshotRetentionLimit: 7,
    });
    const users = template.findResources('AWS::ElastiCache::User');
    expect(Object.keys(users)).toHaveLength(4);
    for (const { Properties } of Object.values(users)) {
      expect(JSON.stringify(Properties.Passwords)).toContain('{{resolve:secretsmanager:');
    }
    const groups = Object.values(template.findResources('AWS::EC2::SecurityGroup'));
    const ingress = JSON.stringify([groups, template.findResources('AWS::EC2::SecurityGroupIngress')]);
    expect(ingress).not.toMatch(/"CidrIp":"0\.0\.0\.0\/0"[^}]*"ToPort":6379/);
    expect(ingress).toContain('"FromPort":6379');
  });

  test('The API and the workers may do in the bucket what the code does, and a worker cannot write uploads', () => {
    const api = statementsOf(template, 'Api');
    const worker = statementsOf(template, 'Worker');
    const all = ['s3:DeleteObject', 's3:GetObject', 's3:ListBucket', 's3:PutObject'];
    expect(actionsOf(api)).toEqual(all);
    expect(actionsOf(worker)).toEqual(all);
    for (const { Action, Resource, Condition } of [...api, ...worker]) {
      if (Action === 's3:ListBucket') expect(Condition).toHaveProperty('StringLike.s3:prefix');
      else expect(JSON.stringify(Resource)).not.toContain('"/*"');
    }
    const writes = worker.filter(({ Action }) => [Action].flat().includes('s3:PutObject'));
    expect(JSON.stringify(writes)).toContain('/out/*');
    expect(JSON.stringify(writes)).not.toContain('/in/*');
  });

  test('Each role is for one service account, and no policy allows every action', () => {
    const conditions = JSON.stringify(template.findResources('Custom::AWSCDKCfnJson'));
    for (const account of ['lehr:lehr-api', 'lehr:lehr-worker', 'kube-system:karpenter']) {
      expect(conditions).toContain(`system:serviceaccount:${account}`);
    }
    for (const { Properties } of Object.values(template.findResources('AWS::IAM::Policy'))) {
      for (const { Effect, Action } of Properties.PolicyDocument.Statement as Statement[]) {
        if (Effect === 'Allow') expect([Action].flat()).not.toContain('*');
      }
    }
  });

  test('Notices of EC2 and of AWS Health reach the encrypted queue of Karpenter', () => {
    template.hasResourceProperties('AWS::SQS::Queue', {
      SqsManagedSseEnabled: true,
      MessageRetentionPeriod: 300,
    });
    template.resourceCountIs('AWS::Events::Rule', 4);
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: { 'detail-type': ['EC2 Spot Instance Interruption Warning'] },
    });
    expect(actionsOf(statementsOf(template, 'Karpenter'))).toContain('sqs:ReceiveMessage');
  });

  test('The outputs name the values of the chart and of karpenter.yaml', () => {
    const outputs = Object.keys(template.findOutputs('*'));
    expect(outputs).toEqual(
      expect.arrayContaining([
        'ApiRoleArn',
        'WorkerRoleArn',
        'KarpenterRoleArn',
        'NodeRoleName',
        'InterruptionQueue',
        'Bucket',
        'RedisAddress',
        'ClusterName',
      ]),
    );
  });
});

test('A new cluster encrypts its secrets and has no public endpoint unless ranges are given', () => {
  created.hasResourceProperties('AWS::EKS::Cluster', {
    EncryptionConfig: [Match.objectLike({ Resources: ['secrets'] })],
    ResourcesVpcConfig: Match.objectLike({ EndpointPublicAccess: false, EndpointPrivateAccess: true }),
  });
  templateOf({ publicAccess: '192.0.2.0/24' }).hasResourceProperties('AWS::EKS::Cluster', {
    ResourcesVpcConfig: Match.objectLike({ EndpointPublicAccess: true, PublicAccessCidrs: ['192.0.2.0/24'] }),
  });
});

test('An existing cluster gets no VPC and no control plane', () => {
  existing.resourceCountIs('AWS::EC2::VPC', 0);
  existing.resourceCountIs('AWS::EKS::Cluster', 0);
  existing.hasResourceProperties('AWS::ElastiCache::SubnetGroup', { SubnetIds: ['subnet-1', 'subnet-2'] });
});

test('The users of ElastiCache have the rights of infra/redis/users.acl, and nobody can be the default one', () => {
  const users = Object.values(created.findResources('AWS::ElastiCache::User'));
  for (const { UserName, AccessString } of users.map(({ Properties }) => Properties)) {
    expect(AccessString).toBe(accessOf(UserName));
  }
  expect(accessOf('default')).toBe('off ~* &* +@all');
  expect(accessOf('worker')).toMatch(/^on &\{lehr\}:\* ~\{lehr\}:diffusion\.\* .* -@all \+ping /);
  expect(accessOf('operator')).toBe('on ~* &* +@all');
  expect(() => accessOf('other')).toThrow('no user other');
});

test('A context value that cannot be used is named with what is allowed', () => {
  expect(() => templateOf({ ...EXISTING, issuer: 'oidc' })).toThrow(
    'the context value issuer is "oidc", wanted',
  );
  expect(() => templateOf({ ...EXISTING, issuerArn: undefined })).toThrow('issuerArn is undefined');
  expect(() => templateOf({ outputTtlHours: '-1' })).toThrow(
    'outputTtlHours is "-1", wanted a number above 0',
  );
});
