/** What an operator chooses, from the context of the CDK app (`cdk deploy -c name=value`, or cdk.json). */

/** A cluster that exists already. */
export interface ExistingCluster {
  readonly kind: 'existing';
  readonly name: string;
  /** Its OpenID Connect issuer, with https://. */
  readonly issuer: string;
  /** The ARN of the IAM identity provider of this issuer. */
  readonly issuerArn: string;
  readonly vpcId: string;
  readonly privateSubnets: readonly string[];
  /** Of its nodes: they may connect to Redis. */
  readonly nodeSecurityGroup: string;
}

export interface NewCluster {
  readonly kind: 'new';
  readonly name: string;
  /** Address ranges that may reach the API server of the cluster; none: only from inside the VPC. */
  readonly publicAccess: readonly string[];
}

export interface Settings {
  readonly cluster: ExistingCluster | NewCluster;
  /** The namespace of Kubernetes that Lehr is installed in. */
  readonly namespace: string;
  /** LEHR_OUTPUT_TTL_H of the installation. */
  readonly outputTtlHours: number;
  readonly redisNode: string;
}

type Context = (name: string) => unknown;

const LIST = /^[^\s,]+(,[^\s,]+)*$/;

/** Throws an error that names the value and what is allowed. */
export function readSettings(context: Context): Settings {
  const name = text(context, 'clusterName', 'lehr', /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,99}$/);
  return {
    cluster: clusterOf(context, name),
    namespace: text(context, 'namespace', 'lehr', /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/),
    outputTtlHours: number(context, 'outputTtlHours', 168),
    redisNode: text(context, 'redisNode', 'cache.r7g.large', /^cache\.[a-z0-9]+\.[a-z0-9]+$/),
  };
}

function clusterOf(context: Context, name: string): ExistingCluster | NewCluster {
  if (context('vpcId') === undefined) {
    const ranges = text(context, 'publicAccess', '', /^$|^[^\s,]+(,[^\s,]+)*$/);
    return { kind: 'new', name, publicAccess: ranges === '' ? [] : ranges.split(',') };
  }
  return {
    kind: 'existing',
    name,
    issuer: text(context, 'issuer', undefined, /^https:\/\/[^\s/]+(\/\S+)?$/),
    issuerArn: text(context, 'issuerArn', undefined, /^arn:[^\s]+:oidc-provider\/\S+$/),
    vpcId: text(context, 'vpcId', undefined, /^vpc-[0-9a-f]+$/),
    privateSubnets: text(context, 'privateSubnets', undefined, LIST).split(','),
    nodeSecurityGroup: text(context, 'nodeSecurityGroup', undefined, /^sg-[0-9a-f]+$/),
  };
}

function text(context: Context, name: string, fallback: string | undefined, allowed: RegExp): string {
  const value = context(name) ?? fallback;
  if (typeof value === 'string' && allowed.test(value)) return value;
  throw new Error(`the context value ${name} is ${JSON.stringify(value)}, wanted ${allowed}`);
}

function number(context: Context, name: string, fallback: number): number {
  const value = Number(context(name) ?? fallback);
  if (Number.isFinite(value) && value > 0) return value;
  throw new Error(`the context value ${name} is ${JSON.stringify(context(name))}, wanted a number above 0`);
}
