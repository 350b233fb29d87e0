/** The CDK app. `npx aws-cdk@2 deploy` in this folder runs it; docs/aws.md explains the context values. */
import { App } from 'aws-cdk-lib';
import { LehrStack } from './lib/lehr-stack.ts';
import { readSettings } from './lib/settings.ts';

const app = new App();
new LehrStack(
  app,
  'Lehr',
  readSettings((name) => app.node.tryGetContext(name)),
);
app.synth();
