/**
 * Awaits a dynamic import that needs the npm package `name`. Throws an error that names the package and the command that
 * installs it if Node.js does not find the package.
 */
export async function loadPackage<T>(feature: string, name: string, loading: Promise<T>): Promise<T> {
  try {
    return await loading
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause
    throw new Error(`${feature} needs the package \`${name}\`; run \`npm install ${name}\``, { cause })
  }
}

function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes(`'${name}'`)
}
