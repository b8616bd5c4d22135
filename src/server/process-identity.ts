/** Names this process in leases, and tells whether another process of this machine is dead (E-9). */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** `host/pid/start time/random`: a process id alone may have been given to somebody else since. */
export function processIdentity(): string {
  const random = Math.random().toString(36).slice(2, 10)
  return `${place()}/${process.pid}/${processTable(process.pid)?.started ?? '?'}/${random}`
}

export function isProcessDead(owner: string): boolean {
  const [host, pidText, started] = owner.split('/')
  const pid = Number(pidText)
  if (host !== place() || !Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
  // Alive, but is it the same process, and not a zombie? Where the system tells, look.
  const now = processTable(pid)
  if (!now) return false
  return now.state === 'Z' || (started !== '?' && started !== now.started)
}

/** Process ids mean something in one namespace of one machine: containers may share a host name. */
function place(): string {
  try {
    return `${hostname()}:${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`
  } catch {
    return hostname()
  }
}

/** State and start (in ticks since boot) from Linux's process table; absent on other systems. */
function processTable(pid: number): { readonly state: string; readonly started: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain anything, so count fields behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', started: fields[19] ?? '' }
  } catch {
    return undefined
  }
}
