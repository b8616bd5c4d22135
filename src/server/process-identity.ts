/** Names this process in leases, and detects dead processes of this machine (E-9). */
import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Returns `place/pid/start time/random`. The id alone is not enough: the system reuses process ids. */
export function processIdentity(place = placeOf(boot())): string {
  const random = Math.random().toString(36).slice(2, 10)
  return `${place || hostname()}/${process.pid}/${processTable(process.pid)?.started ?? '?'}/${random}`
}

/** Whether a lease owner is dead. False for processes that may run elsewhere: a live replica must keep its tasks. */
export function isProcessDead(owner: string, here = placeOf(boot())): boolean {
  const [place, pidText, started] = owner.split('/')
  const pid = Number(pidText)
  if (here === '' || place !== here || !Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
  // The id exists: check that it is the same process and not a zombie, if the system has a process table.
  const now = processTable(pid)
  if (!now) return false
  return now.state === 'Z' || (started !== '?' && started !== now.started)
}

/**
 * The place in which a process id is unique: one namespace of one machine. Machines made from one template share a host
 * name and, outside of containers, the number of the namespace; containers of one machine share its boot id. Without a
 * boot id, machines cannot be distinguished, so the place is empty.
 */
export function placeOf(boot: string): string {
  if (boot === '') return ''
  return `${hostname()}:${boot}:${attempt(() => readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')) ?? ''}`
}

let known: string | undefined

/** The id of this boot of this machine; empty if the system has none. */
function boot(): string {
  known ??= attempt(readBoot)?.trim() ?? ''
  return known
}

function readBoot(): string {
  return process.platform === 'darwin'
    ? execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8', timeout: 2000 })
    : readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')
}

/** State and start time (in ticks since boot) from Linux's process table; undefined on other systems. */
function processTable(pid: number): { readonly state: string; readonly started: string } | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat === undefined) return undefined
  // The name in parentheses may contain anything, so count fields behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0] ?? '', started: fields[19] ?? '' }
}

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
