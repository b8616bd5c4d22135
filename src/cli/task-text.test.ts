import { describe, expect, it } from 'vitest'
import type { Task, TaskState } from '../client/index.js'
import { answerText, contentText, nextSteps } from './task-text.js'

const task = (state: TaskState, said?: string, ...texts: string[]): Task => ({
  id: 't',
  contextId: 'c',
  status: {
    state,
    ...(said !== undefined && { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: said }] } }),
  },
  artifacts: texts.map((text, place) => ({ artifactId: `a${place}`, parts: [{ text }] })),
})

describe('contentText', () => {
  it('joins text parts and puts other parts on lines of their own', () => {
    expect(
      contentText([
        { text: 'one ' },
        { text: 'two' },
        { data: [1] },
        { raw: 'AAEC', filename: 'a.bin', mediaType: 'x/y' },
        { url: 'https://a.example/b' },
        { text: 'three' },
      ]),
    ).toBe('one two\n[\n  1\n]\n[a.bin (x/y, 3 B)]\n[link (https://a.example/b)]\nthree')
  })
})

describe('answerText', () => {
  it.each<[string, Task, string]>([
    ['the artifacts of a task that is done', task('TASK_STATE_COMPLETED', 'last words', 'one', 'two\n'), 'one\ntwo'],
    ['its last words when it made nothing', task('TASK_STATE_COMPLETED', 'last words'), 'last words'],
    ['the question while it is open', task('TASK_STATE_INPUT_REQUIRED', 'Which?', 'draft'), 'Which?'],
    ['what was made, and why it failed', task('TASK_STATE_FAILED', 'No paper', 'half'), 'half\nNo paper'],
    ['nothing where there is nothing', task('TASK_STATE_CANCELED'), ''],
  ])('is %s', (_, given, text) => {
    expect(answerText(given)).toBe(text)
  })
})

describe('nextSteps', () => {
  it('returns nothing for a completed task', () => {
    expect(nextSteps(task('TASK_STATE_COMPLETED'), 'host', false)).toEqual([])
  })

  it('returns commands that can be pasted into a shell', () => {
    expect(nextSteps({ ...task('TASK_STATE_WORKING'), id: "x'; reboot" }, `'https://h/?a'`, true)).toEqual([
      `Task x'; reboot is working: dragoman task get 'https://h/?a' 'x'\\''; reboot' --wait`,
      `Save the files: dragoman task download 'https://h/?a' 'x'\\''; reboot'`,
    ])
  })
})
