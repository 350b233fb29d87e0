/** All dashboards, as data. dashboard-file.ts makes Grafana's JSON of them. */
import { API } from './api.ts';
import { BATCHES } from './batches.ts';
import { CARDS } from './cards.ts';
import { CONTAINERS } from './containers.ts';
import { FLEET } from './fleet.ts';
import { LATENCY } from './latency.ts';
import { MODELS } from './models.ts';
import type { DashboardFacts } from './panel.ts';
import { REDIS } from './redis.ts';
import { TENANTS } from './tenants.ts';
import { WEBHOOKS } from './webhooks.ts';

export const DASHBOARDS: readonly DashboardFacts[] = [
  FLEET,
  LATENCY,
  API,
  MODELS,
  BATCHES,
  TENANTS,
  WEBHOOKS,
  REDIS,
  CARDS,
  CONTAINERS,
];
