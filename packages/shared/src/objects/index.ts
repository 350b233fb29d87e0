export {
  NO_LINKS,
  type ObjectStoreOptions,
  openConfiguredStore,
  openObjectStore,
  storePlace,
} from './configured.ts';
export type { FolderStoreOptions } from './folder.ts';
export {
  checkQuery,
  type LinkClaims,
  type LinkVerdict,
  objectHeaders,
  type QueryVerdict,
  signature,
  verifyLink,
} from './links.ts';
export type { S3StoreOptions } from './s3-client.ts';
export {
  isContentType,
  type LinkOptions,
  type ObjectInfo,
  type ObjectStore,
  type PutOptions,
  type StoredObject,
  sweepObjects,
} from './store.ts';
