export { type AllowList, parseAllowList } from './addresses.ts';
export {
  type Answer,
  createEgress,
  type Egress,
  type EgressOptions,
  type GetOptions,
  type PostOptions,
  type RequestLimits,
} from './egress.ts';
export { EgressError, type EgressFault, PRIVATE_HOSTS } from './guard.ts';
export { type Resolve, systemResolve } from './resolve.ts';
