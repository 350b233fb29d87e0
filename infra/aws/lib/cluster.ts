/** A new EKS cluster with its VPC, or one that exists already. */
import { Tags } from 'aws-cdk-lib';
import {
  GatewayVpcEndpointAwsService,
  IpAddresses,
  type ISecurityGroup,
  type IVpc,
  SecurityGroup,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { CfnAccessEntry, CfnAddon, CfnCluster, CfnNodegroup } from 'aws-cdk-lib/aws-eks';
import { CfnOIDCProvider, ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { makeNodeRole } from './karpenter.ts';
import type { Issuer } from './roles.ts';
import type { ExistingCluster, NewCluster } from './settings.ts';

const VERSION = '1.33';
/** By it Karpenter finds subnets and security groups; karpenter.yaml uses the same. */
const DISCOVERY = 'karpenter.sh/discovery';

export interface Cluster {
  readonly issuer: Issuer;
  readonly vpc: IVpc;
  readonly subnets: readonly string[];
  readonly nodes: ISecurityGroup;
}

export function existingCluster(scope: Construct, settings: ExistingCluster): Cluster {
  const { issuer, issuerArn, vpcId, privateSubnets, nodeSecurityGroup } = settings;
  return {
    issuer: { url: issuer, arn: issuerArn },
    // Only its id is used; the zones are those of the subnets, which nothing here asks for.
    vpc: Vpc.fromVpcAttributes(scope, 'Vpc', { vpcId, availabilityZones: ['unknown'] }),
    subnets: privateSubnets,
    nodes: SecurityGroup.fromSecurityGroupId(scope, 'Nodes', nodeSecurityGroup, { mutable: false }),
  };
}

export function newCluster(scope: Construct, settings: NewCluster, karpenterNodes: Role): Cluster {
  const vpc = makeVpc(scope, settings.name);
  const subnets = vpc.selectSubnets({ subnetType: SubnetType.PRIVATE_WITH_EGRESS }).subnetIds;
  const cluster = makeControlPlane(scope, settings, subnets);
  const issuerUrl = cluster.attrOpenIdConnectIssuerUrl;
  const provider = new CfnOIDCProvider(scope, 'Issuer', {
    url: issuerUrl,
    clientIdList: ['sts.amazonaws.com'],
  });
  makeSystemNodes(scope, cluster, subnets);
  new CfnAccessEntry(scope, 'KarpenterNodesAccess', {
    clusterName: cluster.ref,
    principalArn: karpenterNodes.roleArn,
    type: 'EC2_LINUX',
  });
  return {
    issuer: { url: issuerUrl, arn: provider.attrArn },
    vpc,
    subnets,
    nodes: SecurityGroup.fromSecurityGroupId(scope, 'Nodes', cluster.attrClusterSecurityGroupId, {
      mutable: false,
    }),
  };
}

function makeVpc(scope: Construct, name: string): Vpc {
  const vpc = new Vpc(scope, 'Vpc', {
    ipAddresses: IpAddresses.cidr('10.0.0.0/16'),
    maxAzs: 3,
    natGateways: 1,
    restrictDefaultSecurityGroup: false,
    // Models and outputs do not pass the NAT gateway.
    gatewayEndpoints: { S3: { service: GatewayVpcEndpointAwsService.S3 } },
  });
  for (const subnet of vpc.privateSubnets) {
    Tags.of(subnet).add(DISCOVERY, name);
    Tags.of(subnet).add('kubernetes.io/role/internal-elb', '1');
  }
  for (const subnet of vpc.publicSubnets) Tags.of(subnet).add('kubernetes.io/role/elb', '1');
  return vpc;
}

function makeControlPlane(scope: Construct, settings: NewCluster, subnets: readonly string[]): CfnCluster {
  const { name, publicAccess } = settings;
  const role = new Role(scope, 'ControlPlane', {
    assumedBy: new ServicePrincipal('eks.amazonaws.com'),
    managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName('AmazonEKSClusterPolicy')],
  });
  const key = new Key(scope, 'SecretsKey', {
    description: 'Secrets in the cluster',
    enableKeyRotation: true,
  });
  key.grantEncryptDecrypt(role);
  const hasPublicAccess = publicAccess.length > 0;
  return new CfnCluster(scope, 'Cluster', {
    name,
    version: VERSION,
    roleArn: role.roleArn,
    resourcesVpcConfig: {
      subnetIds: [...subnets],
      endpointPrivateAccess: true,
      endpointPublicAccess: hasPublicAccess,
      ...(hasPublicAccess && { publicAccessCidrs: [...publicAccess] }),
    },
    accessConfig: { authenticationMode: 'API', bootstrapClusterCreatorAdminPermissions: true },
    encryptionConfig: [{ provider: { keyArn: key.keyArn }, resources: ['secrets'] }],
    logging: {
      clusterLogging: { enabledTypes: [{ type: 'api' }, { type: 'audit' }, { type: 'authenticator' }] },
    },
    tags: [{ key: DISCOVERY, value: name }],
  });
}

/** For the API, Karpenter, KEDA and what else needs no card. */
function makeSystemNodes(scope: Construct, cluster: CfnCluster, subnets: readonly string[]): void {
  const nodes = new CfnNodegroup(scope, 'SystemNodes', {
    clusterName: cluster.ref,
    nodeRole: makeNodeRole(scope, 'SystemNodeRole').roleArn,
    subnets: [...subnets],
    amiType: 'AL2023_x86_64_STANDARD',
    instanceTypes: ['m7i.large'],
    scalingConfig: { minSize: 2, desiredSize: 2, maxSize: 4 },
    updateConfig: { maxUnavailable: 1 },
  });
  const addons = {
    // Without this setting, the NetworkPolicies of Lehr have no effect.
    'vpc-cni': { enableNetworkPolicy: 'true' },
    'kube-proxy': {},
    coredns: {},
  };
  for (const [name, values] of Object.entries(addons)) {
    const addon = new CfnAddon(scope, `Addon-${name}`, {
      addonName: name,
      clusterName: cluster.ref,
      resolveConflicts: 'OVERWRITE',
      ...(Object.keys(values).length > 0 && { configurationValues: JSON.stringify(values) }),
    });
    if (name === 'coredns') addon.addDependency(nodes);
  }
}
