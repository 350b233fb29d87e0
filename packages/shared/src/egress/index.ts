export { type AllowList, parseAllowList } from './allow-list.ts';
export {
  type Answer,
  createEgress,
  type Egress,
  type EgressOptions,
  type GetOptions,
  type PostOptions,
  type RequestLimits,
} from './egress.ts';
export { EgressError, type EgressFault, PRIVATE_HOSTS } from './egress-error.ts';
export { type Resolve, systemResolve } from './resolve.ts';
