export { type AllowList, parseAllowList } from './addresses.ts';
export {
  type Answer,
  createEgress,
  type Egress,
  type EgressOptions,
  type GetOptions,
  type PostOptions,
  type RequestLimits,
  type Resolve,
  systemResolve,
} from './egress.ts';
export { EgressError, type EgressFault, PRIVATE_HOSTS } from './guard.ts';
