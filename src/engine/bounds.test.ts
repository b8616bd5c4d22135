/** What reading and storing tasks may cost, however large they are. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { callBy, gate, send, until } from '../testing/index.js'
import { taskIn, testEngine } from './engine.fixture.js'
import { ask, working } from './yields.js'

/** How many characters of JSON are parsed while something is done. */
async function parsedDuring(work: () => Promise<unknown>): Promise<number> {
  const parse = vi.spyOn(JSON, 'parse')
  try {
    await work()
    return parse.mock.calls.reduce((sum, [text]) => sum + text.length, 0)
  } finally {
    parse.mockRestore()
  }
}

afterEach(() => vi.restoreAllMocks())

describe('reading on sqlite', () => {
  const long = 'x'.repeat(200_000)

  it.each(['waits', 'has ended'])('parses the messages that are shown, of a task that %s', async (how) => {
    await using engine = await testEngine(async function* ({ number }) {
      if (number < 5) yield ask('More?')
      else if (how === 'waits') yield ask('Even more?')
    }, 'sqlite')
    const { id } = taskIn(await engine.sendMessage(send(long), callBy()))
    for (let n = 0; n < 4; n++) await engine.sendMessage(send(long, { taskId: id }), callBy())
    const read = async (historyLength: number) => await engine.getTask({ id, historyLength }, callBy())
    const list = async () => await engine.listTasks({ historyLength: 0 }, callBy())
    expect((await read(20)).history).toHaveLength(how === 'waits' ? 10 : 9)
    expect(await parsedDuring(() => read(0))).toBeLessThan(10_000)
    expect(await parsedDuring(() => read(2))).toBeLessThan(250_000)
    expect(await parsedDuring(list)).toBeLessThan(10_000)
  })

  it('lists a running task at the same cost whatever it has said', async () => {
    const [small, large] = [gate(), gate()]
    await using engine = await testEngine(async function* () {
      yield working('0')
      await small.opened
      for (let n = 1; n < 5000; n++) yield working(`${n}`)
      await large.opened
    }, 'sqlite')
    const stream = engine.sendStreamingMessage(send('go'), callBy())[Symbol.asyncIterator]()
    await stream.next()
    for (const includeArtifacts of [false, true]) {
      const list = async () => await engine.listTasks({ includeArtifacts }, callBy())
      expect(await parsedDuring(list)).toBeLessThan(10_000)
    }
    small.open()
    await until(async () => {
      const { tasks } = await engine.listTasks({}, callBy())
      const [part] = tasks[0]?.status.message?.parts ?? []
      return part && 'text' in part && part.text === '4999'
    })
    for (const includeArtifacts of [false, true]) {
      const list = async () => await engine.listTasks({ includeArtifacts }, callBy())
      // The newest batch of progress is read, and no other.
      expect(await parsedDuring(list)).toBeLessThan(100_000)
    }
    large.open()
    await stream.return?.()
  })

  it("R-ERR-7: reads as much of another caller's task as of one that does not exist", async () => {
    await using engine = await testEngine(async function* () {
      yield ask('More?')
    }, 'sqlite')
    const { id } = taskIn(await engine.sendMessage(send(long), callBy('ann')))
    const refused = async (call: Promise<unknown>) => await expect(call).rejects.toThrow(/No task|not found/i)
    const calls = (taskId: string) => [
      () => refused(engine.getTask({ id: taskId }, callBy('bob'))),
      () => refused(engine.cancelTask({ id: taskId }, callBy('bob'))),
      () => refused(engine.sendMessage(send('hi', { taskId }), callBy('bob'))),
      () => refused(engine.subscribeToTask({ id: taskId }, callBy('bob'))[Symbol.asyncIterator]().next()),
    ]
    for (const taskId of [id, 'unknown']) for (const call of calls(taskId)) expect(await parsedDuring(call)).toBe(0)
  })
})
