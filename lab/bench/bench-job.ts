/** What the jobs have in common with which benches fill a queue. */
import { newJobId, type TenantId } from '../../packages/shared/src/index.ts';

export const GROUP = 'diffusion.bench@1.512x512';

export const benchJob = () => ({
  id: newJobId(),
  tenant: 'default' as TenantId,
  type: 'text-to-image' as const,
  model: 'bench@1',
  queue: GROUP,
  priority: 'standard' as const,
  cost: 1200,
  metadata: {},
});
