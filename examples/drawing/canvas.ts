// A small rasteriser. Shapes are functions that tell whether a point is inside. Four samples for each pixel smooth the
// edges. Sizes are integers and the arithmetic is plain, so that an image is the same on every machine.

export type Colour = readonly [number, number, number]
interface Shape {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
  readonly has: (x: number, y: number) => boolean
}
type Paint = Colour | ((x: number, y: number) => Colour)

export function createCanvas(width: number, height: number) {
  const pixels = new Uint8Array(width * height * 3)

  function fill(shape: Shape, paint: Paint) {
    const from = Math.max(0, Math.floor(shape.top))
    const to = Math.min(height, Math.ceil(shape.bottom))
    const left = Math.max(0, Math.floor(shape.left))
    const right = Math.min(width, Math.ceil(shape.right))
    for (let y = from; y < to; y++) {
      for (let x = left; x < right; x++) {
        const covered = coverage(shape, x, y)
        if (covered > 0) blend(x, y, typeof paint === 'function' ? paint(x, y) : paint, covered)
      }
    }
  }

  function blend(x: number, y: number, colour: Colour, share: number) {
    const at = (y * width + x) * 3
    for (const [channel, value] of colour.entries()) {
      pixels[at + channel] = Math.round((pixels[at + channel] ?? 0) * (1 - share) + value * share)
    }
  }

  return { width, height, pixels, fill }
}

function coverage({ has }: Shape, x: number, y: number) {
  const hits = [has(x + 0.25, y + 0.25), has(x + 0.75, y + 0.25), has(x + 0.25, y + 0.75), has(x + 0.75, y + 0.75)]
  return hits.filter(Boolean).length / 4
}

export function circle(x: number, y: number, radius: number): Shape {
  return {
    left: x - radius,
    top: y - radius,
    right: x + radius,
    bottom: y + radius,
    has: (px, py) => (px - x) ** 2 + (py - y) ** 2 <= radius ** 2,
  }
}

export function box(left: number, top: number, right: number, bottom: number): Shape {
  return { left, top, right, bottom, has: (x, y) => x >= left && x < right && y >= top && y < bottom }
}

export function polygon(...corners: readonly (readonly [number, number])[]): Shape {
  const xs = corners.map(([x]) => x)
  const ys = corners.map(([, y]) => y)
  return {
    left: Math.min(...xs),
    top: Math.min(...ys),
    right: Math.max(...xs),
    bottom: Math.max(...ys),
    /** A point is inside if the number of edges to its right is odd. */
    has(x, y) {
      let isInside = false
      let [fromX, fromY] = corners.at(-1) ?? [0, 0]
      for (const [toX, toY] of corners) {
        if (toY > y !== fromY > y && x < ((fromX - toX) * (y - toY)) / (fromY - toY) + toX) isInside = !isInside
        fromX = toX
        fromY = toY
      }
      return isInside
    },
  }
}

/** Returns a vertical gradient. */
export function gradient(above: Colour, below: Colour, top: number, bottom: number): Paint {
  return (_x, y) => {
    const share = Math.min(1, Math.max(0, (y - top) / (bottom - top)))
    const mix = (from: number, to: number) => Math.round(from + (to - from) * share)
    return [mix(above[0], below[0]), mix(above[1], below[1]), mix(above[2], below[2])]
  }
}
