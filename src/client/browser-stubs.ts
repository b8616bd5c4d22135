/**
 * The modules that need Node, as bundlers for browsers see them (`imports` in `package.json`). The client calls neither of
 * these functions in a browser.
 */
export function createGrpcClient(): never {
  throw new Error('gRPC is not supported in browsers')
}

export function createGuardedDialer(): never {
  throw new Error('The guarded dialer is not supported in browsers')
}
