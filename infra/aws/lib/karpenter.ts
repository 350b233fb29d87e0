/** What Karpenter needs: a queue with the notices of EC2, a role for its controller and one for the nodes that it starts. */
import { Aws, CfnOutput, Duration } from 'aws-cdk-lib';
import { type EventPattern, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { ManagedPolicy, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { AccountRole, type Issuer } from './roles.ts';

/** Each makes Karpenter drain the node; the first comes two minutes before EC2 takes it back. */
const NOTICES: Readonly<Record<string, EventPattern>> = {
  SpotInterruption: { source: ['aws.ec2'], detailType: ['EC2 Spot Instance Interruption Warning'] },
  Rebalance: { source: ['aws.ec2'], detailType: ['EC2 Instance Rebalance Recommendation'] },
  StateChange: { source: ['aws.ec2'], detailType: ['EC2 Instance State-change Notification'] },
  Health: { source: ['aws.health'], detailType: ['AWS Health Event'] },
};
const NODE_POLICIES = [
  'AmazonEKSWorkerNodePolicy',
  'AmazonEKS_CNI_Policy',
  'AmazonEC2ContainerRegistryPullOnly',
  'AmazonSSMManagedInstanceCore',
];

export function makeInterruptionQueue(scope: Construct): Queue {
  const queue = new Queue(scope, 'Interruptions', {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    // A notice that is older than this is of no use.
    retentionPeriod: Duration.minutes(5),
  });
  for (const [id, eventPattern] of Object.entries(NOTICES)) {
    new Rule(scope, id, { eventPattern, targets: [new SqsQueue(queue)] });
  }
  new CfnOutput(scope, 'InterruptionQueue', {
    value: queue.queueName,
    description: 'Karpenter: --interruption-queue (settings.interruptionQueue of its chart)',
  });
  return queue;
}

export function makeNodeRole(scope: Construct, id: string): Role {
  return new Role(scope, id, {
    assumedBy: new ServicePrincipal('ec2.amazonaws.com'),
    managedPolicies: NODE_POLICIES.map((name) => ManagedPolicy.fromAwsManagedPolicyName(name)),
  });
}

export function makeKarpenterRole(
  scope: Construct,
  issuer: Issuer,
  cluster: string,
  queue: Queue,
  nodeRole: Role,
): void {
  const { role } = new AccountRole(scope, 'Karpenter', issuer, 'kube-system', 'karpenter');
  const owned = `kubernetes.io/cluster/${cluster}`;
  const ec2 = (...kinds: readonly string[]): string[] =>
    kinds.map((kind) => `arn:${Aws.PARTITION}:ec2:${Aws.REGION}:*:${kind}/*`);
  const made = [
    'fleet',
    'instance',
    'volume',
    'network-interface',
    'launch-template',
    'spot-instances-request',
  ];
  const start = ['ec2:RunInstances', 'ec2:CreateFleet'];
  const statements: PolicyStatement[] = [
    new PolicyStatement({
      actions: start,
      resources: ec2('image', 'snapshot', 'security-group', 'subnet', 'capacity-reservation'),
    }),
    // What it starts carries the name of the cluster, and it ends nothing else.
    new PolicyStatement({
      actions: [...start, 'ec2:CreateLaunchTemplate', 'ec2:CreateTags'],
      resources: ec2(...made),
      conditions: { StringEquals: { [`aws:RequestTag/${owned}`]: 'owned' } },
    }),
    new PolicyStatement({
      actions: [...start, 'ec2:TerminateInstances', 'ec2:DeleteLaunchTemplate', 'ec2:CreateTags'],
      resources: ec2('instance', 'launch-template'),
      conditions: { StringEquals: { [`aws:ResourceTag/${owned}`]: 'owned' } },
    }),
    // AWS offers no resources for these.
    new PolicyStatement({ actions: ['ec2:Describe*', 'pricing:GetProducts'], resources: ['*'] }),
    new PolicyStatement({
      actions: ['ssm:GetParameter'],
      resources: [`arn:${Aws.PARTITION}:ssm:${Aws.REGION}::parameter/aws/service/*`],
    }),
    new PolicyStatement({
      actions: ['iam:PassRole'],
      resources: [nodeRole.roleArn],
      conditions: { StringEquals: { 'iam:PassedToService': 'ec2.amazonaws.com' } },
    }),
    new PolicyStatement({
      actions: [
        'iam:CreateInstanceProfile',
        'iam:TagInstanceProfile',
        'iam:AddRoleToInstanceProfile',
        'iam:RemoveRoleFromInstanceProfile',
        'iam:DeleteInstanceProfile',
        'iam:GetInstanceProfile',
      ],
      resources: [`arn:${Aws.PARTITION}:iam::${Aws.ACCOUNT_ID}:instance-profile/${cluster}_*`],
    }),
    new PolicyStatement({ actions: ['iam:ListInstanceProfiles'], resources: ['*'] }),
    new PolicyStatement({
      actions: ['eks:DescribeCluster'],
      resources: [`arn:${Aws.PARTITION}:eks:${Aws.REGION}:${Aws.ACCOUNT_ID}:cluster/${cluster}`],
    }),
  ];
  for (const statement of statements) role.addToPolicy(statement);
  queue.grantConsumeMessages(role);
  new CfnOutput(scope, 'KarpenterRoleArn', {
    value: role.roleArn,
    description: 'Karpenter: serviceAccount.annotations, eks.amazonaws.com/role-arn',
  });
  new CfnOutput(scope, 'NodeRoleName', {
    value: nodeRole.roleName,
    description: 'karpenter.yaml: role of the EC2NodeClass lehr-gpu',
  });
}
