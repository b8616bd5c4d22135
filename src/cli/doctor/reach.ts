/** The way to the agent, step by step: its name, its port, its certificate. */
import { lookup } from 'node:dns/promises'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Means } from './patient.js'

type ReachMeans = Pick<Means, 'report' | 'timeoutMs'>

const soonDays = 14

/** Whether a connection can be made. */
export async function examineWay(url: URL, means: ReachMeans): Promise<boolean> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  if (!(await isKnown(host, means))) return false
  if (!(await isOpen(host, port, means))) return false
  if (url.protocol === 'https:') return await isTrusted(host, port, means)
  if (!isLoopback(host))
    means.report({
      check: 'encryption',
      verdict: 'warning',
      what: 'what is said, credentials too, goes over the network in the clear',
      advice: 'serve it over https',
    })
  return true
}

async function isKnown(host: string, { report }: ReachMeans): Promise<boolean> {
  if (isIP(host)) return true
  try {
    const addresses = await lookup(host, { all: true })
    report({ check: 'name', verdict: 'ok', what: `${host} is ${addresses.map(({ address }) => address).join(', ')}` })
    return true
  } catch {
    report({
      check: 'name',
      verdict: 'problem',
      what: `${host} is not known to the name service`,
      advice: 'check the spelling',
    })
    return false
  }
}

async function isOpen(host: string, port: number, { report, timeoutMs }: ReachMeans): Promise<boolean> {
  const started = performance.now()
  const fault = await opened(connectTcp({ host, port }), 'connect', timeoutMs)
  const ms = Math.round(performance.now() - started)
  if (fault === undefined) report({ check: 'connection', verdict: 'ok', what: `port ${port} is open (${ms} ms)` })
  else
    report({
      check: 'connection',
      verdict: 'problem',
      what: `port ${port} of ${host} cannot be reached: ${fault}`,
      advice: 'is the agent running, and is there a firewall in between?',
    })
  return fault === undefined
}

async function isTrusted(host: string, port: number, { report, timeoutMs }: ReachMeans): Promise<boolean> {
  const socket: TLSSocket = connectTls({ host, port, ...(isIP(host) ? {} : { servername: host }) })
  let until = Number.NaN
  socket.once('secureConnect', () => {
    until = Date.parse(socket.getPeerCertificate().valid_to)
  })
  const fault = await opened(socket, 'secureConnect', timeoutMs)
  if (fault !== undefined) {
    report({
      check: 'encryption',
      verdict: 'problem',
      what: `no trusted encrypted connection: ${fault}`,
      advice: 'see that the certificate is for this name, in date, and signed by somebody who is trusted here',
    })
    return false
  }
  const days = Math.floor((until - Date.now()) / 86_400_000)
  const isSoon = days < soonDays
  const protocol = socket.getProtocol() ?? 'TLS'
  report({
    check: 'encryption',
    verdict: isSoon ? 'warning' : 'ok',
    what: Number.isNaN(days) ? protocol : `${protocol}, the certificate is good for ${days} days`,
    ...(isSoon && { advice: 'renew the certificate' }),
  })
  return true
}

/** Opens a connection and closes it again; what went wrong, or nothing. */
function opened(socket: Socket, event: 'connect' | 'secureConnect', timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const end = (fault?: string) => {
      clearTimeout(timer)
      resolve(fault)
      socket.destroy()
    }
    const timer = setTimeout(() => end(`no answer within ${timeoutMs / 1000} s`), timeoutMs)
    socket.once(event, () => end())
    socket.on('error', (error: NodeJS.ErrnoException) => end(words[error.code ?? ''] ?? error.message))
  })
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no way to it',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is signed by itself',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|::1)$/.test(host) || host.endsWith('.localhost')
}
