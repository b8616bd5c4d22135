// A small rasteriser. Shapes are functions that say whether a point is inside; edges are smoothed by asking four
// points of every pixel. Everything is integer sizes and plain arithmetic, so an image is the same everywhere.

/** @typedef {readonly [number, number, number]} Colour */
/** @typedef {{ left: number, top: number, right: number, bottom: number, has: (x: number, y: number) => boolean }} Shape */
/** @typedef {Colour | ((x: number, y: number) => Colour)} Paint */

/** @param {number} width @param {number} height */
export function createCanvas(width, height) {
  const pixels = new Uint8Array(width * height * 3)

  /** @param {Shape} shape @param {Paint} paint */
  function fill(shape, paint) {
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

  /** @param {number} x @param {number} y @param {Colour} colour @param {number} share */
  function blend(x, y, colour, share) {
    const at = (y * width + x) * 3
    for (const [channel, value] of colour.entries()) {
      pixels[at + channel] = Math.round((pixels[at + channel] ?? 0) * (1 - share) + value * share)
    }
  }

  return { width, height, pixels, fill }
}

/** @param {Shape} shape @param {number} x @param {number} y */
function coverage({ has }, x, y) {
  const hits = [has(x + 0.25, y + 0.25), has(x + 0.75, y + 0.25), has(x + 0.25, y + 0.75), has(x + 0.75, y + 0.75)]
  return hits.filter(Boolean).length / 4
}

/** @param {number} x @param {number} y @param {number} radius @returns {Shape} */
export function circle(x, y, radius) {
  return {
    left: x - radius,
    top: y - radius,
    right: x + radius,
    bottom: y + radius,
    has: (px, py) => (px - x) ** 2 + (py - y) ** 2 <= radius ** 2,
  }
}

/** @param {number} left @param {number} top @param {number} right @param {number} bottom @returns {Shape} */
export function box(left, top, right, bottom) {
  return { left, top, right, bottom, has: (x, y) => x >= left && x < right && y >= top && y < bottom }
}

/** @param {...readonly [number, number]} corners @returns {Shape} */
export function polygon(...corners) {
  const xs = corners.map(([x]) => x)
  const ys = corners.map(([, y]) => y)
  return {
    left: Math.min(...xs),
    top: Math.min(...ys),
    right: Math.max(...xs),
    bottom: Math.max(...ys),
    /** An odd number of edges to the right of a point: it is inside. */
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

/** From one colour to another, top to bottom.
 * @param {Colour} above @param {Colour} below @param {number} top @param {number} bottom
 * @returns {Paint}
 */
export function gradient(above, below, top, bottom) {
  return (_x, y) => {
    const share = Math.min(1, Math.max(0, (y - top) / (bottom - top)))
    const mix = (/** @type {number} */ from, /** @type {number} */ to) => Math.round(from + (to - from) * share)
    return [mix(above[0], below[0]), mix(above[1], below[1]), mix(above[2], below[2])]
  }
}
