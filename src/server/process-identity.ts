/** Names this process in leases, and tells whether another process of this machine is dead (E-9). */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** `host/pid/start time/random`: a process id alone may have been given to somebody else since. */
export function processIdentity(): string {
  const random = Math.random().toString(36).slice(2, 10)
  return `${hostname()}/${process.pid}/${startTime(process.pid) ?? '?'}/${random}`
}

export function isProcessDead(owner: string): boolean {
  const [host, pidText, started] = owner.split('/')
  const pid = Number(pidText)
  if (host !== hostname() || !Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
  // Alive, but is it the same process? Where the system tells when it started, compare.
  const startedNow = startTime(pid)
  return startedNow !== undefined && started !== '?' && started !== startedNow
}

/** Ticks since boot, from Linux's process table; absent on other systems. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain anything, so count fields behind it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
