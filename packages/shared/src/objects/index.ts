export { isContentType } from './checks.ts';
export { NO_LINKS, openConfiguredStore, storePlace } from './configured.ts';
export type { FolderStoreOptions } from './folder.ts';
export { type LinkClaims, type LinkVerdict, objectHeaders, verifyLink } from './links.ts';
export { type ObjectStoreOptions, openObjectStore } from './open.ts';
export type { S3StoreOptions } from './s3-client.ts';
export { checkQuery, type QueryVerdict, signature } from './signed-query.ts';
export type { LinkOptions, ObjectInfo, ObjectStore, PutOptions, StoredObject } from './store.ts';
export { sweepObjects } from './sweep.ts';
