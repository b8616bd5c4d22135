/** Whether "no such task" is said in the words that the protocol has for it. Pure. */
import type { WireEntry } from '../../client/index.js'
import { isObject } from '../../model/is-object.js'
import type { Verdict } from './finding.js'

export interface Fault {
  readonly verdict: Extract<Verdict, 'warning' | 'problem'>
  readonly what: string
}

type Json = Readonly<Record<string, unknown>>

const notFound = { rpc: -32001, http: 404, grpc: 'NOT_FOUND' }

/** What is wrong with the last answer on the wire, worst first; nothing for a good one. */
export function notFoundFaults(wire: readonly WireEntry[], version: string): Fault[] {
  const answer = wire.findLast(({ direction }) => direction === 'response')
  if (!answer) return []
  const isCurrent = version.startsWith('1.')
  const faults =
    answer.binding === 'GRPC'
      ? grpcFaults(answer)
      : answer.binding === 'JSONRPC'
        ? rpcFaults(answer, isCurrent)
        : restFaults(answer, isCurrent)
  return faults.sort((one, other) => rank(one) - rank(other))
}

function rank({ verdict }: Fault): number {
  return verdict === 'problem' ? 0 : 1
}

function rpcFaults({ status, body }: WireEntry, isCurrent: boolean): Fault[] {
  const answer = parse(body)
  const error = answer?.error
  if (!answer || !isObject(error)) return [problem('the answer is no JSON-RPC error')]
  const faults: Fault[] = []
  if (error.code !== notFound.rpc) faults.push(problem(`the error code is ${show(error.code)} and not ${notFound.rpc}`))
  if (answer.jsonrpc !== '2.0') faults.push(problem('the answer does not say `"jsonrpc": "2.0"`'))
  if (typeof error.message !== 'string') faults.push(problem('the error has no message'))
  if (isCurrent && status !== 200) faults.push(warning(`the HTTP status is ${show(status)} and not 200`))
  if (!isCurrent || error.data === undefined || error.data === null) return faults
  if (!Array.isArray(error.data)) faults.push(warning('`error.data` is no array (R-ERR-4)'))
  return faults
}

function restFaults({ status, body }: WireEntry, isCurrent: boolean): Fault[] {
  const faults: Fault[] = []
  if (status !== notFound.http) faults.push(problem(`the HTTP status is ${show(status)} and not ${notFound.http}`))
  if (!isCurrent) return faults
  const error = parse(body)?.error
  if (!isObject(error)) return [...faults, warning('the body has no `error` (R-ERR-5)')]
  if (error.code !== status)
    faults.push(warning(`\`error.code\` is ${show(error.code)} and not the HTTP status (R-ERR-5)`))
  if (typeof error.status !== 'string') faults.push(warning('`error.status` is missing (R-ERR-5)'))
  const details: unknown[] = Array.isArray(error.details) ? error.details : []
  const info = details.filter(isObject).find((each) => String(each['@type']).endsWith('google.rpc.ErrorInfo'))
  if (info?.reason !== 'TASK_NOT_FOUND')
    faults.push(warning('`error.details` has no ErrorInfo with the reason TASK_NOT_FOUND (R-ERR-2)'))
  return faults
}

function grpcFaults({ status }: WireEntry): Fault[] {
  return status === notFound.grpc ? [] : [problem(`the gRPC status is ${show(status)} and not ${notFound.grpc}`)]
}

function parse(body: unknown): Json | undefined {
  try {
    const value = JSON.parse(String(body)) as unknown
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function problem(what: string): Fault {
  return { verdict: 'problem', what }
}

function warning(what: string): Fault {
  return { verdict: 'warning', what }
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, 80)
}
