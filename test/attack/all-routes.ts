/** Every route into an agent, read from the dialects themselves, so that none is missed. */
import { createDialects } from '../../src/dialects/servers.js'

/** One operation of one dialect over one binding, as an unauthenticated caller would send it. */
export interface HttpRoute {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly isRpc: boolean
}

export interface GrpcRoute {
  readonly name: string
  readonly path: string
}

const json = { 'content-type': 'application/json' }
const versions: Readonly<Record<string, string>> = { v1: '1.0', 'v0.3': '0.3' }

/** `prefix` is the path of a tenant or an agent. The Go profile is at `/go`, as with `dialects: 'all'`. */
export function httpRoutes(prefix = ''): readonly HttpRoute[] {
  return Object.values(createDialects()).flatMap((dialect): HttpRoute[] => {
    const base = `${prefix}${dialect.name === 'v0.1-go' ? '/go' : ''}`
    const version = versions[dialect.name]
    const headers = { ...json, ...(version !== undefined && { 'a2a-version': version }) }
    const rpc = [...(dialect.jsonrpc?.methods.keys() ?? [])].flatMap((method) =>
      (dialect.jsonrpc?.paths ?? ['/']).map((path) => ({
        name: `${dialect.name} ${method} at ${base}${path}`,
        method: 'POST',
        path: `${base}${path}`,
        headers,
        body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { id: 'x' } }),
        isRpc: true,
      })),
    )
    const rest = (dialect.rest?.routes ?? []).map(({ method, path }) => {
      const concrete = `${base}${path.replaceAll(/\{\w+\}/g, 'x')}`
      const body = method === 'POST' ? '{}' : undefined
      return { name: `${dialect.name} ${method} ${concrete}`, method, path: concrete, headers, body, isRpc: false }
    })
    return [...rpc, ...rest]
  })
}

export function grpcRoutes(): readonly GrpcRoute[] {
  return Object.values(createDialects()).flatMap(({ name, grpc }) =>
    [...(grpc?.rpcs.keys() ?? [])].map((rpc) => ({ name: `${name} ${rpc}`, path: `/${grpc?.service}/${rpc}` })),
  )
}
