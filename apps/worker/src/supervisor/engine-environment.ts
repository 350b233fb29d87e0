/** The environment of the engine process, without secrets: it parses files of models and needs no Redis, store or API. */

/** By its name, a variable may hold a secret, or belongs to Lehr, which gives the engine its settings in a message. */
const WITHHELD = /^(?:LEHR_(?!TEST_)|AWS_|REDIS)|KEY|SECRET|TOKEN|PASSW|CREDENTIAL|AUTH/i;
/** The address of a proxy or a database may have a password in it. */
const URL_WITH_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^/\s@]*:[^/\s@]*@/i;

/** The rest is passed on: paths of libraries, and settings of CUDA and ONNX Runtime. */
export const engineEnvironment = (
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !WITHHELD.test(entry[0]) && !URL_WITH_PASSWORD.test(entry[1]),
    ),
  );
