/** Valkey with TLS, two nodes in two zones, snapshots, and one user each for API, workers and operators. */
import { CfnOutput } from 'aws-cdk-lib';
import { type ISecurityGroup, type IVpc, Peer, Port, SecurityGroup } from 'aws-cdk-lib/aws-ec2';
import {
  CfnParameterGroup,
  CfnReplicationGroup,
  CfnSubnetGroup,
  CfnUser,
  CfnUserGroup,
} from 'aws-cdk-lib/aws-elasticache';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { accessOf } from './redis-access.ts';
import type { Settings } from './settings.ts';

const PORT = 6379;
const USERS = ['default', 'api', 'worker', 'operator'] as const;
const SNAPSHOT_DAYS = 7;

interface RedisPlace {
  readonly vpc: IVpc;
  readonly subnets: readonly string[];
  readonly nodes: ISecurityGroup;
}

export function makeRedis(scope: Construct, { vpc, subnets, nodes }: RedisPlace, settings: Settings): void {
  const group = new SecurityGroup(scope, 'RedisAccess', {
    vpc,
    description: 'Redis of Lehr: only the nodes of the cluster connect',
    allowAllOutbound: false,
  });
  group.addIngressRule(Peer.securityGroupId(nodes.securityGroupId), Port.tcp(PORT), 'API and workers');
  const parameters = new CfnParameterGroup(scope, 'RedisParameters', {
    cacheParameterGroupFamily: 'valkey7',
    description: 'Lehr: jobs live in Redis, so nothing is evicted',
    properties: { 'maxmemory-policy': 'noeviction', 'hash-max-listpack-value': '1024' },
  });
  const subnetGroup = new CfnSubnetGroup(scope, 'RedisSubnets', {
    description: 'Private subnets of Lehr',
    subnetIds: [...subnets],
  });
  const redis = new CfnReplicationGroup(scope, 'Redis', {
    replicationGroupDescription: 'Jobs of Lehr',
    engine: 'valkey',
    engineVersion: '7.2',
    cacheNodeType: settings.redisNode,
    port: PORT,
    // Cluster mode off: all keys of a job are on one server.
    numNodeGroups: 1,
    replicasPerNodeGroup: 1,
    automaticFailoverEnabled: true,
    multiAzEnabled: true,
    atRestEncryptionEnabled: true,
    transitEncryptionEnabled: true,
    transitEncryptionMode: 'required',
    cacheParameterGroupName: parameters.ref,
    cacheSubnetGroupName: subnetGroup.ref,
    securityGroupIds: [group.securityGroupId],
    snapshotRetentionLimit: SNAPSHOT_DAYS,
    userGroupIds: [makeUsers(scope, settings.cluster.name).ref],
  });
  new CfnOutput(scope, 'RedisAddress', {
    value: `${redis.attrPrimaryEndPointAddress}:${redis.attrPrimaryEndPointPort}`,
    description:
      'Host and port in LEHR_REDIS_URL: rediss://api:PASSWORD@HOST:PORT, and worker and operator alike',
  });
}

/** The passwords are made by Secrets Manager; the template has references to them. */
function makeUsers(scope: Construct, name: string): CfnUserGroup {
  const users = USERS.map((user) => makeUser(scope, name, user));
  const group = new CfnUserGroup(scope, 'RedisUsers', {
    engine: 'valkey',
    userGroupId: `${name}-users`.toLowerCase(),
    userIds: users.map(({ userId }) => userId),
  });
  for (const user of users) group.addDependency(user);
  return group;
}

function makeUser(scope: Construct, name: string, userName: string): CfnUser {
  const id = userName.charAt(0).toUpperCase() + userName.slice(1);
  const secret = new Secret(scope, `Redis${id}Password`, {
    description: `Password of the user ${userName} of the Redis of Lehr`,
    generateSecretString: { passwordLength: 48, excludePunctuation: true },
  });
  if (userName !== 'default') {
    new CfnOutput(scope, `Redis${id}PasswordSecret`, {
      value: secret.secretArn,
      description: `Secret with the password of the user ${userName}`,
    });
  }
  return new CfnUser(scope, `Redis${id}User`, {
    engine: 'valkey',
    userId: `${name}-${userName}`.toLowerCase(),
    userName,
    accessString: accessOf(userName),
    passwords: [secret.secretValue.unsafeUnwrap()],
  });
}
