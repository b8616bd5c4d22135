import { assertOptions, type NamesOf } from '../model/option-names.js'
import { assertClosedByDefault, closePort, listen, type PortOptions, tlsFor } from '../server/bind.js'
import { settleLog } from '../server/default-log.js'
import { hostsOnPort } from '../server/hosts.js'
import { createListener } from '../server/listener.js'
import { toNodeListener } from '../server/node.js'
import { portOptions } from '../server/option-names.js'
import { assembleRegistry, type Registry, type RegistryOptions, registryOptions } from './create-registry.js'

export interface ServeRegistryOptions extends RegistryOptions, Omit<PortOptions, 'auth'> {}

const optionNames = { ...portOptions, ...registryOptions } satisfies NamesOf<ServeRegistryOptions>

export interface ServedRegistry {
  /** Where clients find it: the public address, or the one it listens at. */
  readonly url: string
  /** Where it listens. */
  readonly address: string
  readonly registry: Registry
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * A registry behind a port.
 *
 * ```ts
 * const { url } = await serveRegistry({ port: 8848, store: 'sqlite:registry.sqlite' })
 * await serve(agent, { register: url })
 * ```
 */
export async function serveRegistry(options: ServeRegistryOptions = {}): Promise<ServedRegistry> {
  assertOptions('serveRegistry', options, optionNames)
  assertClosedByDefault(options, 'registry')
  const tls = tlsFor(options)
  let address = ''
  const allowedHosts = hostsOnPort(options)
  const registry = await assembleRegistry(
    { ...options, ...(allowedHosts && { allowedHosts }) },
    () => options.publicUrl ?? address,
  )
  const listener = createListener(toNodeListener(registry), {
    deadlines: options.deadlines,
    connections: options.connections,
    tls,
    log: settleLog(options.log),
  })
  try {
    address = await listen(listener, options)
  } catch (error) {
    await registry.close()
    throw error
  }
  const close = () => closePort(listener, () => registry.close())
  return { url: options.publicUrl ?? address, address, registry, close, [Symbol.asyncDispose]: close }
}
