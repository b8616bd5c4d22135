// Draws the things named in a request. A follow-up that refers to a drawing adds to the earlier request.
import { agent, artifact, ask, file, textOf, working } from 'dragoman'
import { drawScene } from '../drawing/scene.ts'
import { drawable } from '../drawing/vocabulary.ts'
import { inLanguageOf } from '../writing/language.ts'
import { referencedTasks, textFromCaller } from './earlier-tasks.ts'
import { serveWhenRun } from './serve-when-run.ts'

const name = 'ImageAgent'

export function createImageAgent() {
  return agent(
    {
      name,
      description: 'Draws small scenes as PNG files, offline; equal requests give equal images',
      version: '1.0.0',
      capabilities: { pushNotifications: true },
      skills: [
        {
          id: 'draw',
          name: 'Draw a scene',
          description: `Knows ${drawable.en} (${drawable.zh}), and colours`,
          tags: ['image', '图片'],
          examples: ['Generate an image of a sailboat on the ocean.', '画一张夜晚雪山下的小屋'],
          outputModes: ['image/png'],
        },
      ],
      onCrash: { attempts: 3 },
    },
    async function* (turn) {
      const said = textFromCaller(turn)
      const before = (await referencedTasks(turn, name)).flatMap(({ history = [] }) =>
        history.map((message) => textOf(message).slice(0, 1000)),
      )
      const drawn = drawScene([...before, said].join('\n'))
      if (!drawn) {
        yield ask(
          inLanguageOf(said, {
            zh: `这个我还不会画。我会画：${drawable.zh}。画哪一个？`,
            en: `I cannot draw that. I know ${drawable.en}. Which shall it be?`,
          }),
        )
        return
      }
      yield working(inLanguageOf(said, { zh: '正在作画…', en: 'Drawing…' }))
      const filename = `${drawn.subject}_image.png`
      yield artifact(filename, file(drawn.png, { filename, mediaType: 'image/png' }), {
        description: describe(turn.text.slice(0, 200)),
        lastChunk: true,
      })
    },
  )
}

function describe(wish: string) {
  const [, what] = /\b(?:images?|pictures?|drawings?|paintings?) of (.+?)[.!?\s]*$/is.exec(wish) ?? []
  return what
    ? `A generated image of ${what}.`
    : inLanguageOf(wish, { zh: `根据“${wish.trim()}”绘制`, en: `Drawn for: ${wish.trim()}` })
}

export const port = 8005
const imageAgent = createImageAgent()
export default imageAgent
await serveWhenRun(import.meta, imageAgent, { port })
