/** The environment of the engine process, without secrets: it parses files of models and needs no Redis, store or API. */

/** By its name, a variable may hold a secret, or belongs to Lehr, which gives the engine its settings in a message. */
const WITHHELD = /^(?:LEHR_(?!TEST_)|AWS_|REDIS)|KEY|SECRET|TOKEN|PASSW|CREDENTIAL|AUTH/i;
/** The address of a proxy or a database may have a password in it. */
const URL_WITH_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^/\s@]*:[^/\s@]*@/i;

/**
 * For the allocator of glibc, in bytes. By default it keeps most of the memory of a closed model of less than about 30 MB: measured with the
 * demo model, all of it; with these limits, none.
 */
const RETURN_MEMORY = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '65536' };

/** The rest is passed on: paths of libraries, and settings of CUDA and ONNX Runtime. */
export const engineEnvironment = (
  env: Readonly<Record<string, string | undefined>>,
  closesModels = false,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ ...(closesModels && RETURN_MEMORY), ...env }).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !WITHHELD.test(entry[0]) && !URL_WITH_PASSWORD.test(entry[1]),
    ),
  );
