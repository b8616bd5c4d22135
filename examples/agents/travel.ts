// Parallel follow-ups: each booking is a separate task and names the bookings it depends on in `referenceTaskIds`. A hotel
// and a snowmobile tour can be booked in parallel after the flight; a spa needs a hotel.
import { setTimeout as sleep } from 'node:timers/promises'
import { agent, artifact, ask, data, rejected, type Task, type Turn, text, working } from 'dragoman'
import { inLanguageOf } from '../writing/language.ts'
import { referencedTasks, textFromCaller } from './earlier-tasks.ts'
import { serveWhenRun } from './serve-when-run.ts'

interface Kind {
  readonly words: RegExp
  readonly needs?: string
  readonly zh: string
  readonly en: string
  readonly takesMs: number
}

/** The data part of a `booking` artifact. */
type Booking = {
  readonly kind: string
  readonly destination: string
  readonly confirmation: string
  readonly taskId: string
}

const name = 'TravelAgent'

/** In order of precedence: "add a spa to the hotel booking" is about a spa. */
const kinds: Record<string, Kind> = {
  spa: { words: /\bspa\b|\bsauna\b|水疗|温泉|桑拿/i, needs: 'hotel', zh: '水疗', en: 'spa in', takesMs: 200 },
  snowmobile: {
    words: /snow\s?mobile|雪地摩托|摩托雪橇/i,
    needs: 'flight',
    zh: '雪地摩托',
    en: 'snowmobile tour in',
    takesMs: 1500,
  },
  hotel: { words: /\bhotel\b|\broom\b|酒店|旅馆|住宿/i, needs: 'flight', zh: '酒店', en: 'hotel in', takesMs: 200 },
  flight: { words: /\bflights?\b|\bfly\b|机票|航班|飞往|飞到/i, zh: '机票', en: 'flight to', takesMs: 200 },
}

/** Simulates the airline, the hotel and the guide, which take some time. */
const defaultDesk: (kind: Kind, signal: AbortSignal) => Promise<void> = async ({ takesMs }, signal) =>
  void (await sleep(takesMs, undefined, { signal }))

const phrases = {
  zh: {
    what: '要订什么：机票、酒店、雪地摩托还是水疗？',
    where: '要去哪里？',
    unfinished: (id: string) => `任务 ${id} 还没有完成，请稍后再试。`,
    booking: ({ zh }: Kind, place: string) => `正在预订${place}的${zh}…`,
    booked: ({ zh }: Kind, place: string) => `已订好${place}的${zh}，确认号`,
  },
  en: {
    what: 'What shall I book: a flight, a hotel, a snowmobile tour or a spa?',
    where: 'Where to?',
    unfinished: (id: string) => `Task ${id} is not finished: ask again when it is.`,
    booking: ({ en }: Kind, place: string) => `Booking a ${en} ${place}…`,
    booked: ({ en }: Kind, place: string) => `Your ${en} ${place} is booked:`,
  },
}

export function createTravelAgent(desk = defaultDesk) {
  return agent(
    {
      name,
      description:
        'Books flights, and what follows from them: hotel, snowmobile tour, spa. Each booking is a task of its own',
      version: '1.0.0',
      capabilities: { pushNotifications: true },
      skills: [
        {
          id: 'book',
          name: 'Book',
          description: 'Follow-ups name the tasks they depend on in referenceTaskIds, or are in the same context',
          tags: ['travel', '旅行'],
          examples: ['Book a flight to Helsinki.', 'Based on Task 1, book a hotel.', '订一张去赫尔辛基的机票'],
        },
      ],
    },
    async function* (turn) {
      const said = textFromCaller(turn)
      const say = inLanguageOf(said, phrases)
      const [wanted, kind] = kindIn(said)
      if (!wanted || !kind) {
        yield ask(say.what)
        return
      }
      const { unfinished, bookings } = await bookingsBefore(turn)
      if (unfinished) yield rejected(say.unfinished(unfinished))
      const basis = bookings.findLast((booking) => booking.kind === kind.needs)
      const destination = destinationIn(said) ?? basis?.destination ?? bareDestination(turn)
      if (!destination) {
        yield ask(say.where)
        return
      }
      yield working(say.booking(kind, destination))
      await desk(kind, turn.signal)
      const confirmation = `${wanted.slice(0, 2).toUpperCase()}-${turn.task.id.slice(-6).toUpperCase()}`
      const booking = { kind: wanted, destination, confirmation, ...(basis && { basedOn: basis.taskId }) }
      const sentence = `${say.booked(kind, destination)} ${confirmation}`
      yield artifact('booking', [text(sentence), data(booking)], { lastChunk: true })
    },
  )
}

/** Returns the bookings that the message refers to, or else the earlier bookings of the conversation. */
async function bookingsBefore(turn: Turn) {
  const referenced = await referencedTasks(turn, name)
  const tasks = referenced.length > 0 ? referenced : await turn.earlier()
  const unfinished = referenced.find(({ status }) => status.state !== 'TASK_STATE_COMPLETED')?.id
  return { unfinished, bookings: tasks.flatMap(bookingsOf) }
}

function bookingsOf({ id, artifacts = [] }: Task): Booking[] {
  return artifacts
    .flatMap(({ parts }) => parts)
    .flatMap((part) => ('data' in part ? [{ ...(part.data as Booking), taskId: id }] : []))
}

function kindIn(said: string): [string, Kind] | [] {
  return Object.entries(kinds).find(([, { words }]) => words.test(said)) ?? []
}

/** Finds Helsinki in "a flight to Helsinki", 赫尔辛基 in "去赫尔辛基的机票". */
function destinationIn(said: string) {
  const [, en, zh] =
    /\b(?:to|in) (\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*)*)|(?:去|到|飞往|飞到|在)(\p{Script=Han}{2,8}?)(?=的|订|住|[，。,.\s]|$)/u.exec(
      said,
    ) ?? []
  return en ?? zh
}

/** Accepts a bare name as the answer to "Where to?". */
function bareDestination({ number, text: answer }: Turn) {
  if (number === 1 || kindIn(answer).length > 0) return undefined
  return answer.replace(/[.。!！]+$/u, '').trim()
}

export const port = 8004
const travelAgent = createTravelAgent()
export default travelAgent
await serveWhenRun(import.meta, travelAgent, { port })
