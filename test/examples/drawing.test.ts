import { inflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { encodePng } from '../../examples/drawing/png.js'
import { drawScene } from '../../examples/drawing/scene.js'
import { colourIn, thingsIn } from '../../examples/drawing/vocabulary.js'

interface Decoded {
  readonly width: number
  readonly height: number
  at(x: number, y: number): readonly number[]
}

/** Decodes by the PNG specification, independently of our encoder. */
function decode(png: Buffer): Decoded {
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n')
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    expect(png.readUInt32BE(at + 8 + length)).toBe(checksum(png.subarray(at + 4, at + 8 + length)))
    chunks.set(type, png.subarray(at + 8, at + 8 + length))
    at += 12 + length
  }
  expect([...chunks.keys()]).toEqual(['IHDR', 'IDAT', 'IEND'])
  const header = chunks.get('IHDR') ?? Buffer.alloc(0)
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  expect([...header.subarray(8)]).toEqual([8, 2, 0, 0, 0])
  const rows = inflateSync(chunks.get('IDAT') ?? Buffer.alloc(0))
  expect(rows).toHaveLength((width * 3 + 1) * height)
  for (let y = 0; y < height; y++) expect(rows[y * (width * 3 + 1)]).toBe(0)
  return {
    width,
    height,
    at: (x, y) => [...rows.subarray(y * (width * 3 + 1) + 1 + x * 3).subarray(0, 3)],
  }
}

/** CRC-32, bit by bit. */
function checksum(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}

function draw(wish: string): Decoded {
  const drawn = drawScene(wish)
  if (!drawn) throw new Error(`Nothing was drawn for ${wish}`)
  return decode(drawn.png)
}

describe('encodePng', () => {
  it('keeps every pixel', () => {
    const pixels = Uint8Array.from({ length: 3 * 2 * 3 }, (_, place) => place * 13)
    const image = decode(encodePng({ width: 3, height: 2, pixels }))
    expect([image.width, image.height, image.at(0, 0), image.at(2, 1)]).toEqual([3, 2, [0, 13, 26], [195, 208, 221]])
  })
})

describe('drawScene', () => {
  const isBlue = ([red = 0, , blue = 0]: readonly number[]) => blue > red + 40

  it('draws a sailboat on the ocean', () => {
    const image = draw('Generate an image of a sailboat on the ocean.')
    expect([image.width, image.height]).toEqual([480, 320])
    expect(image.at(290, 220)).toEqual([250, 248, 240]) // the sail
    expect(image.at(262, 258)).toEqual([150, 74, 50]) // the hull
    expect(image.at(390, 68)).toEqual([255, 222, 92]) // the sun
    expect([isBlue(image.at(10, 10)), isBlue(image.at(20, 300))]).toEqual([true, true])
  })

  it('draws identical bytes for equal requests, in both languages', () => {
    const [one, again, other] = ['a sailboat on the ocean', 'a sailboat on the ocean', '海上的帆船'].map(drawScene)
    expect(one?.png.equals(again?.png ?? Buffer.alloc(0))).toBe(true)
    expect(one?.png.equals(other?.png ?? Buffer.alloc(0))).toBe(true)
  })

  it('has night, snow, mountains and houses', () => {
    const night = draw('画一张夜晚雪山下的小屋')
    const [red = 0, green = 0, blue = 0] = night.at(240, 3)
    expect(red + green + blue).toBeLessThan(120) // a dark sky
    expect(night.at(208, 212)).toEqual([255, 220, 120]) // a lit window
    expect(night.at(120, 66)).toEqual([244, 248, 252]) // a white peak
    expect(draw('a house').at(208, 212)).toEqual([170, 210, 232])
  })

  it('gives the subject the last named colour', () => {
    expect(draw('a sailboat. Make it red').at(290, 220)).toEqual([214, 60, 52])
    expect(draw('a red sailboat, no: a blue one').at(290, 220)).toEqual([58, 110, 196])
    expect(colourIn('黄昏的帆船')).toBeUndefined()
  })

  it('ignores unknown words', () => {
    expect(drawScene('a unicorn')).toBeUndefined()
    expect(drawScene('')).toBeUndefined()
  })

  it('names the image after the first subject', () => {
    expect(thingsIn('the ocean, with a boat on it')[0]).toBe('sailboat')
    expect(drawScene('山和树')?.subject).toBe('tree')
  })
})
