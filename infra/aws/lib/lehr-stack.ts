/** All that Lehr needs of AWS in one stack. Its outputs are values of the chart and of karpenter.yaml. */
import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { makeBucket } from './bucket.ts';
import { existingCluster, newCluster } from './cluster.ts';
import { makeInterruptionQueue, makeKarpenterRole, makeNodeRole } from './karpenter.ts';
import { makeRedis } from './redis.ts';
import { makeStoreRoles } from './roles.ts';
import type { Settings } from './settings.ts';

export class LehrStack extends Stack {
  constructor(scope: Construct, id: string, settings: Settings, props: StackProps = {}) {
    super(scope, id, { description: 'Lehr: cluster, bucket, Redis, roles and interruption queue', ...props });
    const karpenterNodes = makeNodeRole(this, 'KarpenterNodes');
    const cluster =
      settings.cluster.kind === 'new'
        ? newCluster(this, settings.cluster, karpenterNodes)
        : existingCluster(this, settings.cluster);
    const objects = makeBucket(this, settings);
    makeStoreRoles(this, cluster.issuer, settings.namespace, objects);
    makeRedis(this, cluster, settings);
    const queue = makeInterruptionQueue(this);
    makeKarpenterRole(this, cluster.issuer, settings.cluster.name, queue, karpenterNodes);
    const outputs = {
      Bucket: [objects.bucketName, 'Chart: env.LEHR_S3_BUCKET'],
      BucketRegion: [this.region, 'Chart: env.AWS_REGION'],
      OutputTtlHours: [String(settings.outputTtlHours), 'Chart: env.LEHR_OUTPUT_TTL_H'],
      ClusterName: [
        settings.cluster.name,
        'Karpenter: settings.clusterName; aws eks update-kubeconfig --name',
      ],
    } as const;
    for (const [name, [value, description]] of Object.entries(outputs)) {
      new CfnOutput(this, name, { value, description });
    }
  }
}
