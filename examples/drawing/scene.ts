// Paints a scene from the words of a request, from background to foreground.
import { box, type Colour, circle, createCanvas, gradient, polygon } from './canvas.ts'
import { encodePng } from './png.ts'
import { colourIn, type Thing, thingsIn } from './vocabulary.ts'

type Canvas = ReturnType<typeof createCanvas>
interface Scene {
  readonly has: (thing: Thing) => boolean
  colour: Colour | undefined
}

const width = 480
const height = 320
const horizon = 190

const white: Colour = [250, 250, 246]

const layers: ((canvas: Canvas, scene: Scene) => void)[] = [
  sky,
  lights,
  clouds,
  mountains,
  ground,
  house,
  trees,
  sailboat,
  snowflakes,
]

/** Returns undefined if the request names nothing that can be drawn. */
export function drawScene(wish: string) {
  const things = thingsIn(wish)
  const [subject] = things
  if (subject === undefined) return undefined
  // A boat implies water.
  const all = new Set(things)
  if (all.has('sailboat')) all.add('ocean')
  const canvas = createCanvas(width, height)
  for (const paint of layers) paint(canvas, { has: (thing) => all.has(thing), colour: colourIn(wish) })
  return { subject, png: encodePng(canvas) }
}

function sky({ fill }: Canvas, { has }: Scene) {
  const [above, below] = skyColours(has)
  fill(box(0, 0, width, height), gradient(above, below, 0, horizon))
}

function skyColours(has: Scene['has']): [Colour, Colour] {
  if (isDark(has))
    return [
      [10, 16, 44],
      [36, 52, 96],
    ]
  if (has('sunset'))
    return [
      [88, 72, 140],
      [250, 168, 104],
    ]
  return [
    [108, 176, 232],
    [214, 236, 248],
  ]
}

function isDark(has: Scene['has']) {
  return has('night') || (has('moon') && !has('sun') && !has('sunset'))
}

function lights({ fill }: Canvas, { has }: Scene) {
  if (isDark(has)) {
    // Not random, so that the same request gives the same stars.
    for (let star = 0; star < 60; star++)
      fill(circle((star * 197) % width, (star * 89) % (horizon - 20), 1 + (star % 3) * 0.4), [240, 240, 220])
    fill(circle(370, 70, 30), [246, 240, 208])
    fill(circle(358, 62, 26), [20, 28, 62])
  } else if (has('sunset')) {
    fill(circle(250, horizon - 12, 44), [255, 206, 112])
  } else {
    if (has('moon')) fill(circle(90, 60, 22), [240, 244, 250])
    fill(circle(390, 68, 34), [255, 222, 92])
  }
}

function clouds({ fill }: Canvas, { has }: Scene) {
  if (!has('cloud')) return
  for (const [x, y] of [
    [110, 70],
    [250, 50],
    [320, 110],
  ] as const) {
    for (const [dx, radius] of [
      [-26, 14],
      [-6, 20],
      [18, 17],
      [36, 11],
    ] as const)
      fill(circle(x + dx, y, radius), white)
  }
}

function mountains({ fill }: Canvas, { has }: Scene) {
  if (!has('mountain')) return
  for (const [x, peak, colour] of [
    [120, 60, [112, 120, 148]],
    [300, 84, [96, 106, 134]],
    [430, 104, [122, 130, 156]],
  ] as const) {
    const half = (horizon - peak) * 1.1
    fill(polygon([x - half, horizon], [x, peak], [x + half, horizon]), colour)
    const cap = (horizon - peak) * 0.26
    fill(
      polygon(
        [x - cap * 1.1, peak + cap],
        [x, peak],
        [x + cap * 1.1, peak + cap],
        [x + cap * 0.4, peak + cap * 0.8],
        [x - cap * 0.2, peak + cap * 1.2],
      ),
      [244, 248, 252],
    )
  }
}

function ground({ fill }: Canvas, { has }: Scene) {
  if (has('ocean')) {
    const [far, near]: [Colour, Colour] = isDark(has)
      ? [
          [24, 44, 88],
          [8, 20, 52],
        ]
      : has('sunset')
        ? [
            [214, 134, 110],
            [60, 64, 116],
          ]
        : [
            [64, 150, 200],
            [16, 76, 138],
          ]
    fill(box(0, horizon, width, height), gradient(far, near, horizon, height))
    for (let wave = 0; wave < 40; wave++) {
      const x = (wave * 151) % width
      const y = horizon + 8 + ((wave * 53) % (height - horizon - 12))
      fill(box(x, y, x + 10 + (wave % 4) * 5, y + 1), gradient(far, white, horizon - 60, height * 2))
    }
    return
  }
  const [far, near]: [Colour, Colour] = has('snow')
    ? [
        [236, 242, 250],
        [206, 218, 236],
      ]
    : isDark(has)
      ? [
          [30, 52, 48],
          [16, 32, 30],
        ]
      : [
          [132, 186, 96],
          [72, 132, 64],
        ]
  fill(box(0, horizon, width, height), gradient(far, near, horizon, height))
}

function house({ fill }: Canvas, { has, colour }: Scene) {
  if (!has('house')) return
  const [x, y] = has('ocean') ? [60, horizon + 8] : [190, horizon + 60]
  if (has('ocean'))
    fill(
      polygon([0, horizon + 20], [30, horizon], [170, horizon - 4], [210, horizon + 24], [0, horizon + 50]),
      [206, 188, 138],
    )
  const walls = has('sailboat') ? undefined : colour // the colour belongs to the subject
  fill(box(x, y - 60, x + 90, y), walls ?? [226, 206, 172])
  fill(polygon([x - 12, y - 58], [x + 45, y - 104], [x + 102, y - 58]), [150, 70, 58])
  fill(box(x + 36, y - 36, x + 56, y), [104, 70, 48])
  for (const left of [x + 10, x + 64])
    fill(box(left, y - 46, left + 16, y - 30), isDark(has) ? [255, 220, 120] : [170, 210, 232])
}

function trees({ fill }: Canvas, { has }: Scene) {
  if (!has('tree')) return
  const y = has('ocean') ? horizon + 14 : horizon + 70
  for (const [x, size] of [
    [66, 1],
    [128, 0.7],
    [404, 1.2],
    [350, 0.8],
  ] as const) {
    fill(box(x - 5 * size, y - 40 * size, x + 5 * size, y), [98, 70, 46])
    const leaves: Colour = has('snow') ? [214, 228, 236] : isDark(has) ? [28, 66, 52] : [52, 122, 66]
    for (const [lift, half] of [
      [34, 34],
      [58, 27],
      [80, 19],
    ] as const) {
      fill(
        polygon([x - half * size, y - lift * size], [x, y - (lift + 40) * size], [x + half * size, y - lift * size]),
        leaves,
      )
    }
  }
}

function sailboat({ fill }: Canvas, { has, colour }: Scene) {
  if (!has('sailboat')) return
  const [x, y] = [262, 246]
  fill(box(x - 2, y - 122, x + 2, y), [96, 68, 46])
  fill(polygon([x + 6, y - 116], [x + 6, y - 12], [x + 74, y - 12]), colour ?? [250, 248, 240])
  fill(polygon([x - 6, y - 104], [x - 6, y - 12], [x - 52, y - 12]), colour ?? [236, 232, 220])
  fill(polygon([x - 66, y - 4], [x + 82, y - 4], [x + 60, y + 22], [x - 46, y + 22]), [150, 74, 50])
  fill(box(x - 58, y + 22, x + 70, y + 24), [190, 220, 236])
}

function snowflakes({ fill }: Canvas, { has }: Scene) {
  if (!has('snow')) return
  for (let flake = 0; flake < 70; flake++)
    fill(circle((flake * 173) % width, (flake * 97) % height, 1.6), [252, 252, 255])
}
