/**
 * At every start on Node 20 the SDK warns that it wants Node 22. The versions pinned in package.json still run on 20, and
 * this variable (aws/aws-sdk-js-v3#7983) silences only that warning.
 */
export function silenceNodeVersionWarning(): void {
  // biome-ignore lint/style/noProcessEnv: written, not read; the SDK reads this setting only from the environment.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
}
